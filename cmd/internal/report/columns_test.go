package report

import (
	"slices"
	"testing"
)

func TestFit(t *testing.T) {
	for _, tc := range []struct {
		name      string
		widths    []int
		gap, room int
		want      []int
	}{
		{"output of any width", []int{100, 50}, 2, 0, []int{100, 50}},
		{"a row that fits", []int{10, 20}, 2, 32, []int{10, 20}},
		{"the widest column gives way", []int{10, 60, 20}, 2, 80, []int{10, 46, 20}},
		{"the widest columns give way together", []int{10, 60, 50}, 3, 80, []int{10, 32, 32}},
		{"no column becomes illegible", []int{30, 30}, 2, 10, []int{8, 8}},
		{"no columns", nil, 2, 10, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := slices.Clone(tc.widths)
			Fit(got, tc.gap, tc.room)
			if !slices.Equal(got, tc.want) {
				t.Errorf("Fit(%v, %d, %d) = %v, want %v", tc.widths, tc.gap, tc.room, got, tc.want)
			}
		})
	}
}

func TestShorten(t *testing.T) {
	for _, tc := range []struct {
		text string
		room int
		want string
	}{
		{"short", 5, "short"},
		{"kueue.x-k8s.io/manager", 10, "kueue…ager"},
		{"kueue.x-k8s.io/manager", 9, "kueu…ager"},
		{"日本語です", 6, "日…す"},
		{"日本語です", 7, "日…です"},
		{"ab", 1, "…"},
		{"", 0, ""},
	} {
		if got := Shorten(tc.text, tc.room); got != tc.want {
			t.Errorf("Shorten(%q, %d) = %q, want %q", tc.text, tc.room, got, tc.want)
		}
	}
}
