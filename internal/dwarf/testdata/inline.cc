#include <cstddef>

volatile int sink;

namespace shop {

template <typename T> struct Price {
	T cents;
	__attribute__((always_inline)) explicit Price(T c) : cents(c)
	{
		sink = c;
		__asm__ volatile(".globl mark\nmark:\n\tnop");
		sink = -c;
	}
};

class Cart {
	int total = 0;

public:
	__attribute__((always_inline)) int add(int n)
	{
		total += Price<int>(n).cents;
		return total;
	}
	__attribute__((noinline)) int fill(std::size_t n);
};

int Cart::fill(std::size_t n)
{
	auto twice = [this](int k) __attribute__((always_inline)) {
		return 2 * add(k);
	};
	return twice(n);
}

}

int main()
{
	shop::Cart c;
	return c.fill(7) > 100;
}
