// Package manifest answers: what is in these files, and where?
//
// It reads TrainJobs, training runtimes, JobSets and ConfigMaps from YAML and JSON as strictly as an
// API server that is asked to be strict, keeps the place of every field, and writes objects back so
// that equal objects give equal bytes:
//
//	files, findings := manifest.Files(fsys, []string{"jobs/"}, false)
//	for _, file := range files {
//		data, unreadable := manifest.Read(fsys, os.Stdin, file)
//		if unreadable != nil {
//			findings = append(findings, *unreadable)
//			continue
//		}
//		documents, found := manifest.Decode(file, data)
//		findings = append(findings, found...)
//		for _, d := range documents {
//			if job, ok := d.Object.(*trainer.TrainJob); ok {
//				fmt.Println(d.Position(fieldpath.Fields("spec", "suspend")), job.Name)
//			}
//		}
//	}
//
// # Reading
//
// A document is read in two ways. The fast one converts it to JSON as Kubernetes does
// (sigs.k8s.io/yaml: YAML 1.1) and decodes that strictly and case-sensitively into the typed object.
// Only when this fails, or when a key may not mean what it says, is the document parsed a second
// time, into nodes that know their lines, and walked against the Go type; the walk reports every
// unknown field, duplicate key and wrong type at once. Where decoding fails and the walk finds
// nothing, the decoder's own error is reported at the document's first line, so that nothing broken
// passes.
//
// Documents of other kinds are recognized and not judged: their Object is nil.
//
// # Limits
//
// Files above 64 MiB, YAML documents and JSON objects above 3 MiB (what an API server takes in one
// request), values nested deeper than 1000 levels, and aliases that expand a document above 3 MiB are
// refused before they cost memory. So is what is not text. A file may have 20,000 findings and 100,000
// objects; past that, a last finding says that the rest was not read.
//
// The package never touches the machine: readers and file systems are handed in.
package manifest
