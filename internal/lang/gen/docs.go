package gen

import "github.com/parley-agents/parley/internal/lang/document"

// emitDocs writes the pages for people: Markdown for each protocol, and one page
// of HTML.
func emitDocs(plan *Plan, _ *problems) []File {
	files := []File{{Path: plan.Package + ".html", Text: document.HTML(plan.pages)}}
	for _, p := range plan.pages.Protocols {
		files = append(files, File{Path: document.Slug(p.Name) + ".md", Text: document.Markdown(plan.pages, p)})
	}
	return files
}
