package merge_test
import ("testing"; "github.com/trainweld/trainweld/merge")
func BenchmarkProf(b *testing.B) {
	template, patches := benchTemplate(3), benchPatches(16, 3)
	for b.Loop() { merge.Apply(template, patches, merge.Options{}) }
}
func BenchmarkProfOwners(b *testing.B) {
	template, patches := benchTemplate(3), benchPatches(16, 3)
	for b.Loop() { merge.Apply(template, patches, merge.Options{Owners: true}) }
}
