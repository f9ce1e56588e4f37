//go:build js

// Command checks renders and checks for the page of the playground, in a browser: see package cmd/internal/playground.
package main

import (
	"github.com/trainweld/trainweld/cmd/internal/command/blame"
	"github.com/trainweld/trainweld/cmd/internal/command/check"
	"github.com/trainweld/trainweld/cmd/internal/command/render"
	"github.com/trainweld/trainweld/cmd/internal/playground"
)

func main() { playground.Serve(render.Command, blame.Command, check.Command) }
