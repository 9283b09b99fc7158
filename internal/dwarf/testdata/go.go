package main

type conn struct {
	fd   int32
	name string
}

//go:noinline
func (c *conn) handle(q string, list []int, f float64) (int, error) {
	return len(q) + len(list) + int(f) + int(c.fd), nil
}

func main() {
	c := &conn{7, "seven"}
	n, _ := c.handle("select", []int{1}, 1.5)
	println(n)
}
