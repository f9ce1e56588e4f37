package fuzz

import (
	"encoding/binary"
	"math/rand/v2"
)

// Choices makes the choices that its bytes say, and those of Rest when they are used up. A fuzz
// target takes it as its source of randomness.
type Choices struct {
	Data []byte
	Rest *rand.PCG
}

// Uint64 makes a choice.
func (c *Choices) Uint64() uint64 {
	if len(c.Data) < 2 {
		return c.Rest.Uint64()
	}
	// Two bytes decide one choice: the generator's alphabets are small, and looks at the high bits.
	choice := uint64(binary.LittleEndian.Uint16(c.Data)) << 48
	c.Data = c.Data[2:]
	return choice | c.Rest.Uint64()>>16
}
