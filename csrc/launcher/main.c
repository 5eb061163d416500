#include "launcher.h"

int main(void) {
    return EXIT_OURS;
}
