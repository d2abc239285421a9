/* Sums up the noisy counts of the leaves of a tree: a method for congenial in C.
   cc -O2 -o bottom_up bottom_up.c; then command = ["./bottom_up"]. Numbers are little-endian, as those of most machines. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *take(size_t n) {
    void *numbers = malloc(8 * n + 1);
    if (!numbers || fread(numbers, 8, n, stdin) != n) exit(1);
    return numbers;
}

int main(void) {
    char line[65536], law[64];
    long nodes = 0, levels, number, n;
    int64_t *parents = NULL;
    while (fgets(line, sizeof line, stdin)) {
        if (sscanf(line, "congenial %ld", &number) == 1) {
            puts(number != 1 ? "error it speaks version 1" : strchr(line, '=') ? "error it has no options" : "method bottom-up 1 invariant");
        } else if (sscanf(line, "structure tree %ld %ld", &nodes, &levels) == 2) {
            free(parents);
            parents = take(nodes);
            free(take(levels + 1));
        } else if (sscanf(line, "cell %ld %63s", &number, law) == 2) {
            if (!parents) {
                puts("error it serves trees");
                break;
            }
            free(take(nodes));
            puts("ready");
        } else if (sscanf(line, "release %ld %ld", &number, &n) == 2) {
            free(take(n)); /* it draws nothing itself */
            double *counts = take(n * nodes);
            for (long i = 0; i < n; i++) {
                double *release = counts + i * nodes;
                for (long v = 1; v < nodes; v++) release[parents[v]] = 0;
                for (long v = nodes - 1; v > 0; v--) release[parents[v]] += release[v];
            }
            printf("released %ld\n", n);
            fwrite(counts, 8, n * nodes, stdout);
            free(counts);
        } else {
            puts("error it serves trees");
            break;
        }
        fflush(stdout);
    }
    fflush(stdout);
    return 0;
}
