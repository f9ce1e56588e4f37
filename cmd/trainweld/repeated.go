package main

import "strings"

// repeated is a flag that may be given several times, and holds all its values in order. It stands in for pflag's
// StringArray, which makes a CSV writer to tell that it is empty: two dozen of them for every command line.
type repeated []string

func (r *repeated) String() string { return strings.Join(*r, ",") }

func (r *repeated) Set(value string) error {
	*r = append(*r, value)
	return nil
}

// Type is what the help calls the value, and tells the completion that the flag may be given again.
func (r *repeated) Type() string { return "stringArray" }
