package main

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spdx/tools-golang/json"
	"github.com/spdx/tools-golang/spdx"
	"github.com/spdx/tools-golang/spdx/v2/common"
	"github.com/spdx/tools-golang/spdxlib"
)

// sbomFile names the list of the modules in each artifact.
const sbomFile = "trainweld.spdx.json"

// writeSBOM writes the list of the modules in each artifact as an SPDX document.
func (r release) writeSBOM(made []artifact) (string, error) {
	d := r.sbom(made)
	if err := spdxlib.ValidateDocument(d); err != nil {
		return "", fmt.Errorf("%s: %w", sbomFile, err)
	}
	var out bytes.Buffer
	if err := json.Write(d, &out, json.Indent("  "), json.EscapeHTML(false)); err != nil {
		return "", err
	}
	return r.write(sbomFile, out.Bytes())
}

// sbom describes each artifact as a package that contains the modules. The namespace follows from the artifacts, since a document
// about other artifacts needs another one.
func (r release) sbom(made []artifact) *spdx.Document {
	all := sha256.New()
	for _, a := range made {
		fmt.Fprintf(all, "%s  %s\n", a.sum, a.name)
	}
	d := &spdx.Document{
		SPDXVersion: spdx.Version, DataLicense: spdx.DataLicense, SPDXIdentifier: "DOCUMENT",
		DocumentName:      "trainweld " + r.version,
		DocumentNamespace: fmt.Sprintf("%s%s/%s-%x", downloads, r.version, sbomFile, all.Sum(nil)),
		CreationInfo: &spdx.CreationInfo{
			Creators: []common.Creator{{CreatorType: "Tool", Creator: "trainweld-release-" + r.version}},
			Created:  r.time.Format(time.RFC3339),
		},
	}
	seen := map[common.ElementID]bool{}
	for _, a := range made {
		id := identifier("artifact", a.name)
		d.Packages = append(d.Packages, r.artifactPackage(id, a))
		d.Relationships = append(d.Relationships, related("DOCUMENT", common.TypeRelationshipDescribe, id))
		for _, m := range a.modules {
			contained := identifier("module", m.path+"-"+m.version)
			if !seen[contained] {
				seen[contained] = true
				d.Packages = append(d.Packages, modulePackage(contained, m))
			}
			d.Relationships = append(d.Relationships, related(id, common.TypeRelationshipContains, contained))
		}
	}
	return d
}

func (r release) artifactPackage(id common.ElementID, a artifact) *spdx.Package {
	p := &spdx.Package{
		PackageName: a.name, PackageSPDXIdentifier: id, PackageVersion: r.version,
		PackageDownloadLocation: downloads + r.version + "/" + a.name, PackageHomePage: homepage, PrimaryPackagePurpose: "ARCHIVE",
		PackageSourceInfo: "revision " + r.revision, PackageCopyrightText: "NOASSERTION",
		PackageLicenseConcluded: expression(a.modules), PackageLicenseDeclared: "Apache-2.0",
		PackageChecksums: []common.Checksum{{Algorithm: common.SHA256, Value: a.sum}},
	}
	if a.image {
		p.PackageDownloadLocation, p.PrimaryPackagePurpose = "NOASSERTION", "CONTAINER"
	}
	return p
}

func modulePackage(id common.ElementID, m module) *spdx.Package {
	return &spdx.Package{
		PackageName: m.path, PackageSPDXIdentifier: id, PackageVersion: m.version,
		PackageDownloadLocation: "NOASSERTION", PrimaryPackagePurpose: "LIBRARY", PackageCopyrightText: "NOASSERTION",
		PackageLicenseConcluded: strings.Join(m.licenses, " AND "), PackageLicenseDeclared: strings.Join(m.licenses, " AND "),
		PackageExternalReferences: []*spdx.PackageExternalReference{{
			Category: common.CategoryPackageManager, RefType: common.TypePackageManagerPURL, Locator: purl(m),
		}},
	}
}

// purl returns the package URL of a module, by which databases of vulnerabilities know it.
func purl(m module) string {
	return "pkg:golang/" + m.path + "@" + url.QueryEscape(m.version)
}

// expression returns the licenses of all modules as one SPDX expression.
func expression(modules []module) string {
	var found []string
	for _, name := range accepted {
		for _, m := range modules {
			if slices.Contains(m.licenses, name) {
				found = append(found, name)
				break
			}
		}
	}
	return strings.Join(found, " AND ")
}

// identifier returns an SPDX identifier, which has letters, digits, dots and hyphens only.
func identifier(kind, name string) common.ElementID {
	return common.ElementID(kind + "-" + regexp.MustCompile(`[^0-9A-Za-z.-]`).ReplaceAllString(name, "-"))
}

func related(a common.ElementID, kind string, b common.ElementID) *spdx.Relationship {
	return &spdx.Relationship{
		RefA: common.DocElementID{ElementRefID: a}, Relationship: kind, RefB: common.DocElementID{ElementRefID: b},
	}
}
