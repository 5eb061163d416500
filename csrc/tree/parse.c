/* Parsers of /proc/PID files, each a pure function of its text. */
#include "tree.h"

typedef int fox_parse_is_not_empty;
