package dashboard

import (
	"reflect"
	"slices"
)

// Update is a message of a stream: a whole picture, or the changes since the last one.
type Update struct {
	// At is the time of the server in Unix milliseconds.
	At   int64 `json:"at"`
	Head *Head `json:"head,omitempty"`
	// Groups are set only in a whole picture.
	Groups []Group `json:"groups,omitempty"`
	Whole  bool    `json:"whole,omitempty"`
	// Cells are all cells of a whole picture, and otherwise the changed ones. Index has their places.
	Cells []Cell `json:"cells"`
	Index []int  `json:"index,omitempty"`
	// Texts are the messages of the cells; Text has the index of each cell's message in them, plus one, or zero.
	Texts []string `json:"texts"`
	Text  []int    `json:"text"`
}

// updateOf returns the update from one picture to the next; nil if nothing has changed. It is a whole picture if clusters came or went.
func updateOf(before, after *Picture, at int64) *Update {
	u := &Update{At: at, Cells: []Cell{}, Text: []int{}, Texts: []string{}}
	texts := map[string]int{}
	if before == nil || !sameClusters(before, after) {
		u.Whole, u.Head, u.Groups = true, &after.Head, after.Groups
		for i := range after.Cells {
			u.add(&after.Cells[i], texts)
		}
		return u
	}
	if !reflect.DeepEqual(before.Head, after.Head) {
		u.Head = &after.Head
	}
	for i := range after.Cells {
		if after.Cells[i] != before.Cells[i] {
			u.Index = append(u.Index, i)
			u.add(&after.Cells[i], texts)
		}
	}
	if u.Head == nil && len(u.Cells) == 0 {
		return nil
	}
	return u
}

func (u *Update) add(cell *Cell, texts map[string]int) {
	u.Cells = append(u.Cells, *cell)
	if cell.Message != "" && texts[cell.Message] == 0 {
		u.Texts = append(u.Texts, cell.Message)
		texts[cell.Message] = len(u.Texts)
	}
	u.Text = append(u.Text, texts[cell.Message])
}

func sameClusters(a, b *Picture) bool {
	return slices.Equal(a.Groups, b.Groups) && slices.EqualFunc(a.Cells, b.Cells, func(x, y Cell) bool { return x.Name == y.Name })
}
