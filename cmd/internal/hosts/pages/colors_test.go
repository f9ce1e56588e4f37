package pages

import (
	"bytes"
	"fmt"
	"image"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// layered writes a page of a TrainJob with ten managers. It has more layers than the style has
// colors.
func layered(t *testing.T) string {
	t.Helper()
	var job strings.Builder
	job.WriteString(
		"apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\nmetadata: {name: " +
			"llm}\nspec:\n  runtimeRef: {name: torch-a100}\n  runtimePatches:\n")
	for i := range 10 {
		fmt.Fprintf(&job,
			"  - manager: example.com/manager-%d\n    trainingRuntimeSpec: {template: {metadata: "+
				"{labels: {label-%d: a}}}}\n", i, i)
	}
	file := filepath.Join(t.TempDir(), "job.yaml")
	if err := os.WriteFile(file, []byte(job.String()), 0o666); err != nil {
		t.Fatal(err)
	}
	return write(t, "blame", file, "-r", "runtime.yaml")
}

// bar is the bar of a layer, as the controls show it.
type bar struct {
	Pattern string
	X, Y    int
}

// TestColors shows the page as people with a color vision deficiency see it. Two layers differ in
// the pattern of their bars or clearly in color, up to the number of colors. Every bar has the
// contrast to the page that WCAG asks for.
func TestColors(t *testing.T) {
	const colors, leastDistance, leastContrast = 11, 0.033, 3
	file := layered(t)
	for _, preferred := range []string{"light", "dark"} {
		p := open(t, file, 1280, scheme(preferred))
		bars := eval[[]bar](
			t, p, `[...document.querySelectorAll(".filter label[class]")].map((label) => {
			const pattern = getComputedStyle(label, "::before").borderLeftStyle, r = label.getBoundingClientRect();
			label.style.setProperty("--b", "solid"); // so that the middle of the bar has its color
			return {pattern, x: Math.round(r.left + 1 + parseFloat(getComputedStyle(label).paddingLeft) + 2), y: Math.round(r.top + r.height / 2)};
		})`)
		if len(bars) <= colors {
			t.Fatalf("the page has %d layers, want more than %d", len(bars), colors)
		}
		for _, deficiency := range []emulation.SetEmulatedVisionDeficiencyType{
			"none", "protanopia", "deuteranopia", "tritanopia"} {
			p.run(t, command(emulation.SetEmulatedVisionDeficiency,
				emulation.SetEmulatedVisionDeficiencyParams{Type: deficiency}))
			picture, err := png.Decode(bytes.NewReader(get(t, p, chromedp.CaptureScreenshot())))
			if err != nil {
				t.Fatal(err)
			}
			for i, a := range bars[:colors] {
				if c := contrast(picture, a, bar{X: 2, Y: 2}); c < leastContrast {
					t.Errorf("%s, %s: layer %d has a contrast of %.2f", preferred, deficiency, i, c)
				}
				for j, b := range bars[:i] {
					if d := distance(picture, a, b); a.Pattern == b.Pattern && d < leastDistance {
						t.Errorf("%s, %s: layers %d and %d have %s bars, and colors at a "+
							"distance of %.3f", preferred, deficiency, j, i, a.Pattern, d)
					}
				}
			}
		}
	}
}

// linear returns the linear red, green and blue of a picture's dot.
func linear(picture image.Image, at bar) [3]float64 {
	r, g, b, _ := picture.At(at.X, at.Y).RGBA()
	var all [3]float64
	for i, c := range []uint32{r, g, b} {
		if all[i] = float64(c) / 0xffff; all[i] <= 0.04045 {
			all[i] /= 12.92
		} else {
			all[i] = math.Pow((all[i]+0.055)/1.055, 2.4)
		}
	}
	return all
}

// contrast returns the contrast ratio of two dots by WCAG.
func contrast(picture image.Image, a, b bar) float64 {
	luminance := func(at bar) float64 {
		c := linear(picture, at)
		return 0.2126*c[0] + 0.7152*c[1] + 0.0722*c[2] + 0.05
	}
	high, low := luminance(a), luminance(b)
	return max(high, low) / min(high, low)
}

// distance returns the distance of two dots in the color space Oklab, in which 0.02 is just
// visible.
func distance(picture image.Image, a, b bar) float64 {
	oklab := func(at bar) [3]float64 {
		c := linear(picture, at)
		l := math.Cbrt(0.4122214708*c[0] + 0.5363325363*c[1] + 0.0514459929*c[2])
		m := math.Cbrt(0.2119034982*c[0] + 0.6806995451*c[1] + 0.1073969566*c[2])
		s := math.Cbrt(0.0883024619*c[0] + 0.2817188376*c[1] + 0.6299787005*c[2])
		return [3]float64{
			0.2104542553*l + 0.7936177850*m - 0.0040720468*s,
			1.9779984951*l - 2.4285922050*m + 0.4505937099*s,
			0.0259040371*l + 0.7827717662*m - 0.8086757660*s,
		}
	}
	x, y := oklab(a), oklab(b)
	return math.Sqrt((x[0]-y[0])*(x[0]-y[0]) + (x[1]-y[1])*(x[1]-y[1]) + (x[2]-y[2])*(x[2]-y[2]))
}
