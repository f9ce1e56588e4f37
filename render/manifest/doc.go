// Package manifest reads and writes manifest files, and finds the position of each field.
//
// It reads TrainJobs, training runtimes, JobSets and ConfigMaps from YAML and JSON, like an API
// server under strict validation. It keeps the position of every field. It writes equal objects as
// equal bytes:
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
// Decode first converts a document to JSON as Kubernetes does (sigs.k8s.io/yaml: YAML 1.1). It
// decodes the JSON strictly and case-sensitively into the typed object. If this fails, or a key is
// doubtful, it parses the document into nodes with positions. A walk over the nodes and the Go type
// reports all unknown fields, duplicate keys and wrong types at once. If decoding fails and the
// walk finds nothing, Decode reports the decoder's error at the document's first line. So every
// error is reported.
//
// Documents of other kinds have a nil Object and no findings.
//
// # Limits
//
// Limits protect the memory. A file may have 64 MiB. A YAML document or JSON object may have 3 MiB,
// including its expanded aliases. That is the limit of an API server for a request. A List may be
// larger, as JSON or with items on lines of their own. Then each item has the limit. Values may
// nest 1000 levels deep. Input must be text. A file may have 20,000 findings and 100,000 objects.
// Beyond these, one more finding reports that the rest was not read.
//
// The package does not access the machine: callers pass readers and file systems.
//
// Its first file to read is document.go.
package manifest
