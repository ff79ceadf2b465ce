package worklist

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	goruntime "runtime"
	"sync"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"open-cluster-management.io/api/client/work/clientset/versioned/scheme"

	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
	"github.com/open-cluster-management-io/work-rollback/pkg/work"
)

// PageSize is the number of ManifestWorks in a page. A single one can be hundreds of kilobytes.
const PageSize = 250

// waiting is the number of works that wait for a decoder.
const waiting = 16

// item is a work of the list as JSON, with its position.
type item struct {
	data json.RawMessage
	at   int
}

// Read reads the ManifestWorks that a selector selects, in all namespaces, and the resource version from which a watch continues. Works are
// decoded while the rest of the list arrives. If the list changes so much meanwhile that the API server can't continue it, Read reads the
// rest in its new state. A whole list is one page. Only an API server that does not hold the answer in memory should be asked for that.
func Read(ctx context.Context, client rest.Interface, selector string, whole bool) (works []work.Work, version string, err error) {
	options := metav1.ListOptions{LabelSelector: selector, Limit: PageSize}
	if whole {
		options.Limit = 0
	}
	items := make(chan item, waiting)
	known, list := &digests{known: map[[sha256.Size]byte]revision.Digest{}}, &list{}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		defer close(items)
		version, err = fetch(ctx, client, options, items)
		return err
	})
	for range goruntime.GOMAXPROCS(0) {
		group.Go(func() error {
			for next := range items {
				found, err := known.decode(next.data)
				if err != nil {
					return err
				}
				list.put(next.at, found)
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return nil, "", err
	}
	return list.works, version, nil
}

// fetch reads the pages one after the other. It returns the resource version of the first one.
func fetch(ctx context.Context, client rest.Interface, options metav1.ListOptions, items chan<- item) (version string, err error) {
	at := 0
	send := func(data json.RawMessage) error {
		select {
		case items <- item{data: data, at: at}:
			at++
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	for {
		meta, err := fetchPage(ctx, client, options, send)
		next := continues(err)
		if err != nil && next == "" {
			return "", err
		}
		version = cmp.Or(version, meta.ResourceVersion)
		if options.Continue = cmp.Or(next, meta.Continue); options.Continue == "" {
			return version, nil
		}
	}
}

func fetchPage(
	ctx context.Context, client rest.Interface, options metav1.ListOptions, send func(json.RawMessage) error,
) (metav1.ListMeta, error) {
	body, err := client.Get().Resource("manifestworks").VersionedParams(&options, scheme.ParameterCodec).
		SetHeader("Accept", runtime.ContentTypeJSON).Stream(ctx)
	if err != nil {
		return metav1.ListMeta{}, err
	}
	defer func() { _ = body.Close() }()
	return readList(body, send)
}

// continues returns the token with which an expired list continues from the current state. It is empty for any other error.
func continues(err error) string {
	var status apierrors.APIStatus
	if !apierrors.IsResourceExpired(err) || !errors.As(err, &status) {
		return ""
	}
	return status.Status().Continue
}

// list gathers the works in their order.
type list struct {
	mu    sync.Mutex
	works []work.Work
}

func (l *list) put(at int, found work.Work) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if missing := at + 1 - len(l.works); missing > 0 {
		l.works = append(l.works, make([]work.Work, missing)...)
	}
	l.works[at] = found
}
