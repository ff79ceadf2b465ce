package monitoring

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

type threshold struct {
	Color string   `json:"color"`
	Value *float64 `json:"value"`
}

// panel holds the parts of a dashboard panel that these tests read.
type panel struct {
	ID          int    `json:"id"`
	Title       string `json:"title"`
	Type        string `json:"type"`
	Repeat      string `json:"repeat"`
	Description string `json:"description"`
	GridPos     struct {
		H, W, X, Y int
	} `json:"gridPos"`
	Datasource struct {
		Type string `json:"type"`
		UID  string `json:"uid"`
	} `json:"datasource"`
	FieldConfig struct {
		Defaults struct {
			Unit       string `json:"unit"`
			Thresholds *struct {
				Mode  string      `json:"mode"`
				Steps []threshold `json:"steps"`
			} `json:"thresholds"`
		} `json:"defaults"`
	} `json:"fieldConfig"`
	Targets []struct {
		RefID string `json:"refId"`
		Expr  string `json:"expr"`
	} `json:"targets"`
}

func dashboard(t *testing.T) (panels []panel, variables []string, content string) {
	t.Helper()
	raw, err := Files.ReadFile("dashboard.json")
	require.NoError(t, err)
	var parsed struct {
		UID        string  `json:"uid"`
		Panels     []panel `json:"panels"`
		Templating struct {
			List []struct {
				Name string `json:"name"`
			} `json:"list"`
		} `json:"templating"`
	}
	require.NoError(t, json.Unmarshal(raw, &parsed))
	require.Equal(t, "mwrs", parsed.UID)
	for _, variable := range parsed.Templating.List {
		variables = append(variables, variable.Name)
	}
	return parsed.Panels, variables, string(raw)
}

func TestDashboardReadsWhatIsExported(t *testing.T) {
	e := exported(t)
	panels, _, content := dashboard(t)
	shown := 0
	for _, p := range panels {
		for _, target := range p.Targets {
			shown++
			require.NoError(t, e.check(target.Expr), p.Title)
		}
		require.Equal(t, p.Type == "row", len(p.Targets) == 0, p.Title)
	}
	require.Greater(t, shown, 10)
	for name := range e {
		if strings.HasPrefix(name, "mwrs_") && !strings.HasSuffix(name, "_sum") && !strings.HasSuffix(name, "_count") {
			require.Contains(t, content, name, "no panel shows it")
		}
	}
}

// Grafana can draw each panel: the type and the unit are known, the thresholds ascend from a base, and no two panels overlap.
func TestDashboardIsSound(t *testing.T) {
	panels, variables, _ := dashboard(t)
	ids, cells := map[int]bool{}, map[[2]int]string{}
	for _, p := range panels {
		require.NotEmpty(t, p.Title)
		require.False(t, ids[p.ID], "the id of %s exists twice", p.Title)
		ids[p.ID] = true
		for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
			require.Less(t, x, 24, "%s is wider than the dashboard", p.Title)
			for y := p.GridPos.Y; y < p.GridPos.Y+p.GridPos.H; y++ {
				require.Empty(t, cells[[2]int{x, y}], "%s overlaps another panel", p.Title)
				cells[[2]int{x, y}] = p.Title
			}
		}
		if p.Repeat != "" {
			require.Contains(t, variables, p.Repeat, p.Title)
		}
		require.Contains(t, []string{"row", "stat", "gauge", "timeseries", "table"}, p.Type, p.Title)
		if p.Type != "row" {
			require.NoError(t, p.check(), p.Title)
		}
	}
}

// check returns the problem of a panel that shows data.
func (p *panel) check() error {
	defaults := &p.FieldConfig.Defaults
	switch defaults.Unit {
	case "short", "s", "ops", "bytes", "percentunit":
	default:
		return fmt.Errorf("Grafana has no unit %q", defaults.Unit)
	}
	if p.Description == "" || p.Datasource.Type != "prometheus" || p.Datasource.UID != "${datasource}" {
		return fmt.Errorf("no description, or another data source than the selected one: %+v", p.Datasource)
	}
	if defaults.Thresholds == nil {
		if p.Type == "stat" || p.Type == "gauge" {
			return fmt.Errorf("a %s has a color by its thresholds", p.Type)
		}
		return nil
	}
	for i, step := range defaults.Thresholds.Steps {
		if (i == 0) != (step.Value == nil) {
			return fmt.Errorf("the first step, and no other, is the base: step %d", i)
		}
		if i > 1 && *step.Value <= *defaults.Thresholds.Steps[i-1].Value {
			return fmt.Errorf("step %d does not ascend", i)
		}
	}
	return nil
}
