#include <dlfcn.h>
#include <stdio.h>

int main(void)
{
	void *library = dlopen("./libinner.so", RTLD_NOW);
	int (*measure)(const char *) = (int (*)(const char *))dlsym(library, "measure");
	puts("loaded");
	return measure("a text") != 7 || measure("") != 1;
}
