package worklist

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"open-cluster-management.io/api/client/work/clientset/versioned/scheme"
)

// chunk is the number of bytes of a list that are read at a time.
const chunk = 4 << 20

// fetchWhole reads the list as one page, and finds where its works begin and end while it arrives. It returns the resource version.
func fetchWhole(ctx context.Context, client rest.Interface, selector string, pages chan<- page) (version string, err error) {
	body, err := client.Get().Resource("manifestworks").VersionedParams(&metav1.ListOptions{LabelSelector: selector}, scheme.ParameterCodec).
		SetHeader("Accept", runtime.ContentTypeJSON).Stream(ctx)
	if err != nil {
		return "", err
	}
	defer func() { _ = body.Close() }()
	s := &stream{from: body, send: func(p page) error {
		select {
		case pages <- p:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}}
	meta, err := s.list()
	return meta.ResourceVersion, err
}

// stream is a list that arrives. It keeps the bytes from the first value that is not complete.
type stream struct {
	from io.Reader
	send func(page) error

	data []byte
	// at is the position of the next byte in data.
	at int
	// chunks is the number of chunks that were read, and sent is the number of works that were sent.
	chunks, sent int
	end          bool
}

// list walks through the list, sends its works and returns its metadata.
func (s *stream) list() (meta metav1.ListMeta, err error) {
	if err := s.expect('{'); err != nil {
		return meta, err
	}
	for {
		name, err := s.value()
		if err == nil {
			err = s.expect(':')
		}
		if err != nil {
			return meta, err
		}
		switch string(name) {
		case `"items"`:
			err = s.items()
		case `"metadata"`:
			var value []byte
			if value, err = s.value(); err == nil {
				if err = json.Unmarshal(value, &meta); err != nil {
					err = fmt.Errorf("the metadata of a list of ManifestWorks: %w", err)
				}
			}
		default:
			_, err = s.value()
		}
		if err != nil {
			return meta, err
		}
		switch next, err := s.next(); {
		case err != nil:
			return meta, err
		case next == '}':
			return meta, nil
		case next != ',':
			return meta, errBroken
		}
	}
}

// items sends the works: a page for each chunk.
func (s *stream) items() error {
	if err := s.expect('['); err != nil {
		return err
	}
	if first, err := s.peek(); err != nil || first == ']' {
		s.at++
		return err
	}
	var items [][]byte
	flush := func() error {
		p := page{items: items, first: s.sent}
		s.sent, items = s.sent+len(items), nil
		return s.send(p)
	}
	for {
		before := s.chunks
		item, err := s.value()
		if err != nil {
			return err
		}
		items = append(items, item)
		next, err := s.next()
		if err != nil {
			return err
		}
		if next == ']' || s.chunks != before {
			if err := flush(); err != nil {
				return err
			}
		}
		switch next {
		case ',':
		case ']':
			return nil
		default:
			return errBroken
		}
	}
}

// value returns the next value. Its bytes stay valid.
func (s *stream) value() ([]byte, error) {
	for {
		s.at = space(s.data, s.at)
		// The end of a number or of true may be missing.
		if end := valueEnd(s.data, s.at); end > 0 && (end < len(s.data) || s.end) {
			value := s.data[s.at:end]
			s.at = end
			return value, nil
		}
		if err := s.more(); err != nil {
			return nil, err
		}
	}
}

// peek returns the next byte that is not white space, and next also skips it.
func (s *stream) peek() (byte, error) {
	for {
		if s.at = space(s.data, s.at); s.at < len(s.data) {
			return s.data[s.at], nil
		}
		if err := s.more(); err != nil {
			return 0, err
		}
	}
}

func (s *stream) next() (byte, error) {
	found, err := s.peek()
	s.at++
	return found, err
}

func (s *stream) expect(wanted byte) error {
	found, err := s.next()
	if err == nil && found != wanted {
		return errBroken
	}
	return err
}

// more reads the next chunk into new memory, behind the bytes that are not used yet.
func (s *stream) more() error {
	if s.end {
		return errBroken
	}
	rest := s.data[min(s.at, len(s.data)):]
	data := make([]byte, len(rest)+max(chunk, len(rest)))
	copy(data, rest)
	n, err := io.ReadFull(s.from, data[len(rest):])
	s.data, s.at, s.chunks = data[:len(rest)+n], 0, s.chunks+1
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		s.end, err = true, nil
	}
	return err
}
