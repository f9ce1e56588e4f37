package hosts

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// oldNeovim gives releases of Neovim before 0.11 the two functions that the settings of docs/editor.md call.
const oldNeovim = `
if not vim.lsp.config then
  local saved = {}
  vim.lsp.config = function(name, config) saved[name] = config end
  vim.lsp.enable = function(name)
    local config = saved[name]
    vim.api.nvim_create_autocmd('FileType', { pattern = config.filetypes, callback = function(event)
      local root = vim.fn.fnamemodify(vim.fn.finddir(config.root_markers[1], '.;'), ':p:h:h')
      vim.lsp.buf_attach_client(event.buf, vim.lsp.start_client({ name = name, cmd = config.cmd, settings = config.settings, root_dir = root }))
    end })
  end
end
`

// askNeovim writes the language server's diagnostics of the open file, and its completions in the last line, to a file. Then it ends
// Neovim.
const askNeovim = `
vim.wait(60000, function() return #vim.diagnostic.get(0) > 0 end, 100)
local found = { problems = {}, labels = {} }
for _, d in ipairs(vim.diagnostic.get(0)) do
  table.insert(found.problems, string.format('%d:%d %s', d.lnum + 1, d.col + 1, d.message))
end
vim.cmd('normal! G$')
local position = { line = vim.fn.line('.') - 1, character = vim.fn.col('$') - 1 }
local answers = vim.lsp.buf_request_sync(0, 'textDocument/completion', { textDocument = { uri = vim.uri_from_bufnr(0) }, position = position }, 60000)
for _, answer in pairs(answers or {}) do
  for _, item in ipairs((answer.result or {}).items or {}) do table.insert(found.labels, item.label) end
end
vim.fn.writefile({ vim.fn.json_encode(found) }, 'found.json')
vim.cmd('qall!')
`

// TestEditor_Neovim runs Neovim with the settings of the page.
func TestEditor_Neovim(t *testing.T) {
	program := server(t)
	need(t, "nvim")
	dir := editorRepository(t)
	write(t, filepath.Join(dir, "init.lua"), oldNeovim+editorPage(t, "lua"))
	write(t, filepath.Join(dir, "ask.lua"), askNeovim)
	write(t, filepath.Join(dir, "jobs", "llm.yaml"), editorHead("own")+"          - name: node\n          - name: \n")
	env := []string{
		"PATH=" + filepath.Dir(program) + string(os.PathListSeparator) + os.Getenv("PATH"),
		"HOME=" + t.TempDir(), "XDG_STATE_HOME=" + t.TempDir(), "XDG_CACHE_HOME=" + t.TempDir(),
	}
	must(t, dir, env, "nvim", "--headless", "-n", "-u", "init.lua", "jobs/llm.yaml", "-c", "luafile ask.lua")
	var found struct{ Problems, Labels []string }
	if err := json.Unmarshal([]byte(read(t, filepath.Join(dir, "found.json"))), &found); err != nil {
		t.Fatal(err)
	}
	if want := "14:19 the runtime has no replicated job of this name; it has worker"; !slices.Contains(found.Problems, want) {
		t.Errorf("problems:\n%s\nwant %s", strings.Join(found.Problems, "\n"), want)
	}
	if !slices.Equal(found.Labels, []string{"worker"}) {
		t.Errorf("completion = %q, want worker", found.Labels)
	}
}
