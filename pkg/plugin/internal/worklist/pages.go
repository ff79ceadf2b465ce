package worklist

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
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

// waiting is the number of pages that wait for a decoder.
const waiting = 1

// page is a page of the list, with the position of its first work.
type page struct {
	items [][]byte
	first int
}

// Read reads the ManifestWorks that a selector selects, in all namespaces, and the resource version from which a watch continues. While the
// API server writes a page, the pages before it are decoded. If the list changes so much meanwhile that the API server can't continue it,
// Read reads the rest in its new state. A whole list is one page, and is decoded while it arrives. Only an API server that does not hold
// the answer in memory should be asked for that.
func Read(ctx context.Context, client rest.Interface, selector string, whole bool) (works []work.Work, version string, err error) {
	pages := make(chan page, waiting)
	known := &digests{known: map[[sha256.Size]byte]revision.Digest{}}
	list, fetch := &list{}, fetchPages
	if whole {
		fetch = fetchWhole
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		defer close(pages)
		version, err = fetch(ctx, client, selector, pages)
		return err
	})
	for range goruntime.GOMAXPROCS(0) {
		group.Go(func() error {
			for p := range pages {
				if err := list.decode(known, p); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return nil, "", err
	}
	return list.works, version, nil
}

// fetchPages reads the pages one after the other, and finds where their works begin and end. It returns the resource version of the first
// one.
func fetchPages(ctx context.Context, client rest.Interface, selector string, pages chan<- page) (version string, err error) {
	options := metav1.ListOptions{LabelSelector: selector, Limit: PageSize}
	for first := 0; ; {
		answer := client.Get().Resource("manifestworks").VersionedParams(&options, scheme.ParameterCodec).
			SetHeader("Accept", runtime.ContentTypeJSON).Do(ctx)
		err := answer.Error() // Unlike the error of Raw, it has the API server's reason.
		if next := continues(err); next != "" {
			options.Continue = next
			continue
		}
		if err != nil {
			return "", err
		}
		data, err := answer.Raw()
		if err != nil {
			return "", err
		}
		items, meta, err := split(data)
		if err != nil {
			return "", err
		}
		select {
		case pages <- page{items: items, first: first}:
		case <-ctx.Done():
			return "", ctx.Err()
		}
		version = cmp.Or(version, meta.ResourceVersion)
		if meta.Continue == "" {
			return version, nil
		}
		first, options.Continue = first+len(items), meta.Continue
	}
}

// continues returns the token with which an expired list continues from the current state. It is empty for any other error.
func continues(err error) string {
	var status apierrors.APIStatus
	if !apierrors.IsResourceExpired(err) || !errors.As(err, &status) {
		return ""
	}
	return status.Status().Continue
}

// split returns the works of a page as JSON, and the metadata of the list.
func split(data []byte) (items [][]byte, meta metav1.ListMeta, err error) {
	var broken error
	for name, value := range members(data, &broken) {
		switch string(name) {
		case "items":
			for item := range elements(value, &broken) {
				items = append(items, item)
			}
		case "metadata":
			if err := json.Unmarshal(value, &meta); err != nil {
				return nil, meta, fmt.Errorf("the metadata of a list of ManifestWorks: %w", err)
			}
		}
	}
	return items, meta, broken
}

// list gathers the works of the pages, in their order.
type list struct {
	mu    sync.Mutex
	works []work.Work
}

func (l *list) decode(known *digests, p page) error {
	works := make([]work.Work, 0, len(p.items))
	for _, item := range p.items {
		found, err := known.decode(item)
		if err != nil {
			return err
		}
		works = append(works, found)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if missing := p.first + len(works) - len(l.works); missing > 0 {
		l.works = append(l.works, make([]work.Work, missing)...)
	}
	copy(l.works[p.first:], works)
	return nil
}
