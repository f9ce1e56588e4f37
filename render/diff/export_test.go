package diff

// DropNulls is for the laws, which compare what the package compares.
var DropNulls = dropNulls
