package plain_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// sinks are the files outside this package that write control sequences. They write only sequences of the program itself.
var sinks = []string{"pkg/cli/plugin/printer.go", "pkg/cli/plugin/redraw.go"}

// TestOnlySinksKnowControlCharacters: all other code passes texts on unchanged, and no command line is built without quoting.
func TestOnlySinksKnowControlCharacters(t *testing.T) {
	classes := regexp.MustCompile(`^(IsControl|IsPrint|IsGraphic|C|Cc|Cf|Zl|Zp|Bidi_Control|Other_Default_Ignorable_Code_Point)$`)
	sequence := regexp.MustCompile(`\\x1b|\\033|\\u001b|\\x9b|\\u009b|\\x7f`)
	command := regexp.MustCompile("kubectl [^`]*%[sqvd]")
	for _, root := range []string{"../../pkg", "../../cmd/work", "../../cmd/kubectl-mwrs"} {
		require.NoError(t, filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || strings.HasPrefix(path, "../../pkg/plain/") {
				return err
			}
			for _, sink := range sinks {
				if strings.HasSuffix(path, sink) {
					return nil
				}
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			require.NoError(t, err)
			ast.Inspect(file, func(node ast.Node) bool {
				switch n := node.(type) {
				case *ast.SelectorExpr:
					if of, isName := n.X.(*ast.Ident); isName && (of.Name == "unicode" || of.Name == "strconv") {
						require.NotRegexp(t, classes, n.Sel.Name, path)
					}
				case *ast.BasicLit:
					require.NotRegexp(t, sequence, n.Value, path)
					require.NotRegexp(t, command, n.Value, "%s: use plain.Command", path)
				}
				return true
			})
			return nil
		}))
	}
}
