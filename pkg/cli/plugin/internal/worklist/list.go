package worklist

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// readList sends the works of a list, as JSON, while the list arrives. It returns the metadata of the list.
func readList(from io.Reader, send func(json.RawMessage) error) (meta metav1.ListMeta, err error) {
	l := &listReader{Decoder: json.NewDecoder(from), send: send}
	if err := l.list(&meta); err != nil {
		if errors.Is(err, io.EOF) { // The end of a list that is not complete.
			err = io.ErrUnexpectedEOF
		}
		return meta, fmt.Errorf("reading a list of ManifestWorks: %w", err)
	}
	return meta, nil
}

type listReader struct {
	*json.Decoder
	send func(json.RawMessage) error
}

func (l *listReader) list(meta *metav1.ListMeta) error {
	if err := l.expect(json.Delim('{')); err != nil {
		return err
	}
	for l.More() {
		name, err := l.Token()
		if err != nil {
			return err
		}
		switch name {
		case "metadata":
			err = l.Decode(meta)
		case "items":
			err = l.items()
		default:
			err = l.Decode(new(json.RawMessage))
		}
		if err != nil {
			return err
		}
	}
	return l.expect(json.Delim('}'))
}

func (l *listReader) items() error {
	switch begin, err := l.Token(); {
	case err != nil:
		return err
	case begin == nil:
		return nil // JSON's null: there are none.
	case begin != json.Delim('['):
		return fmt.Errorf("items is %v", begin)
	}
	for l.More() {
		var item json.RawMessage
		if err := l.Decode(&item); err != nil {
			return err
		}
		if err := l.send(item); err != nil {
			return err
		}
	}
	return l.expect(json.Delim(']'))
}

func (l *listReader) expect(wanted json.Delim) error {
	switch found, err := l.Token(); {
	case err != nil:
		return err
	case found != wanted:
		return fmt.Errorf("found %v instead of %q", found, wanted)
	}
	return nil
}
