package version

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
	apimachineryversion "k8s.io/apimachinery/pkg/version"
)

func TestWrite(t *testing.T) {
	info := apimachineryversion.Info{GitVersion: "v1.2.3", GitCommit: "0123abcd", GoVersion: "go1.26.8", Platform: "linux/arm64"}
	var out bytes.Buffer
	require.NoError(t, write(&out, info, ""))
	require.Equal(t, "Version:  v1.2.3\nCommit:   0123abcd\nGo:       go1.26.8\nPlatform: linux/arm64\n", out.String(), "no date is known")

	out.Reset()
	require.NoError(t, write(&out, info, "json"))
	var read apimachineryversion.Info
	require.NoError(t, json.Unmarshal(out.Bytes(), &read))
	require.Equal(t, info, read)

	require.ErrorContains(t, write(&out, info, "yaml"), `"yaml" is not a format of this command: use json`)
}

// The command prints the version that the build metric and the upgrade of the hub use.
func TestCommandPrintsThisBuild(t *testing.T) {
	cmd := NewCommand()
	var out bytes.Buffer
	cmd.SetOut(&out)
	cmd.SetArgs(nil)
	require.NoError(t, cmd.Execute())
	require.Contains(t, out.String(), "Version:  "+Get().GitVersion+"\n")
}
