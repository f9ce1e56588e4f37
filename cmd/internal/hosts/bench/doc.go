// Package bench compares the program with other tools. It is a separate module, so that neither the
// library nor the program depends on them. docs/performance.md describes the results.
//
//	go test -run '^$' -bench Check -benchtime 1x .
package bench
