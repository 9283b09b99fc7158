#include <algorithm>
#include <map>
#include <string>
#include <vector>

__attribute__((noinline)) int tally(std::vector<int> v)
{
	std::map<std::string, int> seen;
	std::sort(v.begin(), v.end(), [](int a, int b) { return a % 7 < b % 7; });
	for (int n : v)
		seen[std::to_string(n % 10)] += n;
	int best = 0;
	for (const auto &[name, sum] : seen)
		if (name.size() == 1 && sum > best)
			best = sum;
	return best;
}

int main(int argc, char **argv)
{
	std::vector<int> v;
	for (int i = 0; i < 100 * argc; i++)
		v.push_back(i * 31 % 97);
	return tally(std::move(v)) & 1;
}
