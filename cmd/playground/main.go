//go:build js

// Command playground renders for the page of the playground, in a browser: see package internal/playground.
package main

import (
	"github.com/trainweld/trainweld/internal/command/blame"
	"github.com/trainweld/trainweld/internal/command/render"
	"github.com/trainweld/trainweld/internal/playground"
)

func main() { playground.Serve(render.Command, blame.Command) }
