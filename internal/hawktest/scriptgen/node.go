package scriptgen

import "strings"

// A Node is a piece of a script: Text[0], Kids[0], Text[1], Kids[1] and so on,
// Text being one longer than Kids. The text between the kids is never changed, so that a smaller
// tree is a script too.
type Node struct {
	Role Role
	Text []string
	Kids []*Node
}

// Role says how a Node may be made smaller.
type Role uint8

// The roles of nodes.
const (
	Fixed Role = iota // as it is
	List              // any of its kids may be left out
	Stmt              // any list below may stand for it
	Expr              // any expression below, or a number, may stand for it
)

// leaf is text alone.
func leaf(role Role, text string) *Node { return &Node{Role: role, Text: []string{text}} }

// node fills kids into a template in which each # stands for one. A template with another number
// of holes is a mistake in this package, and no script's.
func node(role Role, template string, kids ...*Node) *Node {
	text := strings.Split(template, "#")
	if len(text) != len(kids)+1 {
		panic("scriptgen: template " + template)
	}
	return &Node{role, text, kids}
}

// list is a sequence of statements.
func list(kids []*Node) *Node {
	return &Node{Role: List, Text: make([]string, len(kids)+1), Kids: kids}
}

// String is the text of the script.
func (n *Node) String() string {
	var b strings.Builder
	n.write(&b)
	return b.String()
}

func (n *Node) write(b *strings.Builder) {
	for i, k := range n.Kids {
		b.WriteString(n.Text[i])
		k.write(b)
	}
	b.WriteString(n.Text[len(n.Kids)])
}

// Shrink makes a script smaller as long as bad says that it still shows the
// mistake. The node is changed in place. The rounds end when one has changed nothing. bad is
// asked often, hundreds of times for a long script.
func Shrink(root *Node, bad func(script string) bool) {
	for before := -1; before != root.size(); {
		before = root.size()
		root.shrink(func() bool { return bad(root.String()) })
	}
}

// size is the number of nodes.
func (n *Node) size() int {
	out := 1
	for _, k := range n.Kids {
		out += k.size()
	}
	return out
}

// shrink goes from the root down: what takes away most is tried first.
func (n *Node) shrink(try func() bool) {
	switch n.Role {
	case List:
		n.shrinkList(try)
	case Stmt:
		n.replace(n.below(List), try)
	case Expr:
		if len(n.Kids) > 0 {
			n.replace(append([]*Node{leaf(Expr, "0"), leaf(Expr, "1")}, n.below(Expr)...), try)
		}
	}
	for _, k := range n.Kids {
		k.shrink(try)
	}
}

// shrinkList leaves out halves, quarters, … and at last single kids. Large pieces go first,
// which takes few trials where most of a script has nothing to do with the mistake.
func (n *Node) shrinkList(try func() bool) {
	for width := max(len(n.Kids)/2, 1); ; width /= 2 {
		for at := 0; at < len(n.Kids); {
			old := n.Kids
			end := min(at+width, len(old))
			n.set(append(append([]*Node(nil), old[:at]...), old[end:]...))
			if !try() {
				n.set(old)
				at = end
			}
		}
		if width <= 1 {
			return
		}
	}
}

// set may forget the text in between, as that of a list is empty.
func (n *Node) set(kids []*Node) {
	n.Kids, n.Text = kids, make([]string, len(kids)+1)
}

// replace puts the first of others that works in the place of n. The node itself is overwritten,
// so that its parent need not know.
func (n *Node) replace(others []*Node, try func() bool) {
	old := *n
	for _, o := range others {
		*n = *o
		if try() {
			return
		}
	}
	*n = old
}

// below are the nearest nodes of a role under n. It stops at each that it finds: smaller ones
// get their turn when that one stands in the place of n.
func (n *Node) below(r Role) (out []*Node) {
	for _, k := range n.Kids {
		if k.Role == r {
			out = append(out, k)
		} else {
			out = append(out, k.below(r)...)
		}
	}
	return out
}
