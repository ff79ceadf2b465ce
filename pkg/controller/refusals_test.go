package controller

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/open-cluster-management-io/work-rollback/pkg/controller/internal/memory"
	"github.com/open-cluster-management-io/work-rollback/pkg/metrics"
)

// Every answer from the API server is one of four results: an alert about a write must not depend on the words of a webhook.
func TestWriteResult(t *testing.T) {
	works := workv1.Resource("manifestworks")
	for name, test := range map[string]struct {
		err    error
		wanted metrics.WriteResult
	}{
		"it was accepted":                        {nil, metrics.Written},
		"the object has changed":                 {apierrors.NewConflict(works, "web", errors.New("newer")), metrics.Conflict},
		"the cache does not show it yet":         {memory.ErrUnseen, metrics.Conflict},
		"wrapped":                                {fmt.Errorf("patching: %w", apierrors.NewConflict(works, "web", errors.New("newer"))), metrics.Conflict},
		"a webhook rejects it":                   {apierrors.NewForbidden(works, "web", errors.New("quota")), metrics.Refused},
		"the cluster's namespace is terminating": {apierrors.NewNotFound(works, "web"), metrics.Refused},
		"too many requests":                      {apierrors.NewTooManyRequests("later", 1), metrics.Failed},
		"a webhook does not answer":              {apierrors.NewInternalError(errors.New("timeout")), metrics.Failed},
		"a proxy has no server":                  {apierrors.NewGenericServerResponse(502, "patch", works, "web", "Bad Gateway", 0, true), metrics.Failed},
		"a webhook reports an error":             {&apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: 502}}, metrics.Failed},
		"no connection":                          {errors.New("connection refused"), metrics.Failed},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, test.wanted, writeResult(test.err)) })
	}
}
