struct Twice {
	int outer;
};

namespace shop {

struct Twice {
	long inner, more;
};

struct Base {
	int id;
	virtual ~Base() {}
};

struct Item {
	int price;
	short n;
};

struct Owner {
	int *what;
	~Owner() { delete what; }
};

class Cart : public Base {
public:
	static int carts;
	int total = 0;
	Twice *twice = nullptr;
	__attribute__((noinline)) int add(const Item &it, bool twice) { return total += it.price * (twice ? 2 : 1); }
};

int Cart::carts;

template <typename T> struct Box {
	T v;
	__attribute__((noinline)) T get(T more) { return v + more; }
};

__attribute__((noinline)) int many(Cart c, Owner o, int &&r, Item i)
{
	return c.id + *o.what + r + i.n;
}

}

Twice outer;

int main()
{
	shop::Cart c;
	shop::Item i{5, 6};
	shop::Box<long> b{40};
	c.add(i, true);
	return shop::many(c, shop::Owner{new int(1)}, 9, i) + b.get(2) + outer.outer == 0;
}
