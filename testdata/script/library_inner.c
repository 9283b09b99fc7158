#include <string.h>
#include <unistd.h>

static int depth(const char *text) { return strlen(text); }
int parent(void) { return getppid() > 0; }
int measure(const char *text) { return depth(text) + parent(); }
