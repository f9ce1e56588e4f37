// Package recorded holds trainweld against results that the own code of each release of the Trainer
// gave: its definitions with pruning, defaults, schema and rules, its webhooks, and the objects
// that its controllers apply. The owners come from forced server-side applies of the patches, by
// the release's definition of JobSet.
//
// The archives in testdata have the cases. BEHAVIOUR/NAME/input.yaml has the objects that a user
// applies, and these files the results:
//
//	2.0,2.1.json   the objects of these releases, or how they differ from those of the file before:
//	               a JSON merge patch
//	2.2.refused    no text: the release rejects the input
//	2.2.warns      no text: a webhook of the release warns
//	2.3.owners     the fields of the patches' managers, where server-side apply gives the object of the merge
//
// fuzz/releases/renew compares the results with the releases' own code, and renews them with
// -record.
package recorded
