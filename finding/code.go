package finding

// Code is the stable name of a kind of finding: TW and a number. The first digit is the stage.
// Stage 1 is reading, 2 the check of the patches, 3 the merge with its conflicts, and 4 rendering.
// Stage 5 is admission, 6 later rejections by the API server, 7 updates, and 8 rewriting. Package
// codes of the renderer has and explains them all.
type Code string

// Codes of findings about any merge. Other programs have findings with codes of their own.
const (
	CodeOverlap  Code = "TW300" // managers set different values
	CodeUnion    Code = "TW301" // managers set different members of a union
	CodeForced   Code = "TW305" // value overridden by force
	CodeZeroNull Code = "TW313" // Go value removes fields
)
