// session_step as a process: crates/tcp/tests/all/hardware.rs feeds it steps and holds what it makes against the
// crate.
//
//   standard input    for each step: record, event, path, time
//   standard output   for each step: record, segment, notices, and the cycles that it took
//
// Each is a packed struct as 32-bit words of this machine, the lowest bits first.
#include <cstdint>
#include <cstdio>
#include <memory>
#include <type_traits>
#include <vector>

#include "Vsession_step.h"
#include "verilated.h"

namespace {

constexpr unsigned MostCycles = 64;

// Ports of up to 64 bits are numbers, wider ones are arrays of words.
template <typename Port>
size_t words(const Port &) {
    return sizeof(Port) / 4;
}

template <typename Port>
bool read(Port &port) {
    return fread(&port, 4, words(port), stdin) == words(port);
}

template <typename Port>
void write(const Port &port) {
    fwrite(&port, 4, words(port), stdout);
}

void tick(Vsession_step &top) {
    top.clk_i = 1;
    top.eval();
    top.clk_i = 0;
    top.eval();
}

}  // namespace

int main(int argc, char **argv) {
    VerilatedContext context;
    context.commandArgs(argc, argv);
    Vsession_step top(&context);
    top.clk_i = 0;
    top.rst_ni = 0;
    top.valid_i = 0;
    tick(top);
    top.rst_ni = 1;
    while (read(top.record_i) && read(top.event_i) && read(top.path_i) && read(top.now_i)) {
        top.valid_i = 1;
        top.eval();
        if (!top.ready_o) {
            fprintf(stderr, "session_step is not ready between two steps\n");
            return 1;
        }
        tick(top);
        top.valid_i = 0;
        uint32_t cycles = 1;
        for (; !top.valid_o; cycles++) {
            if (cycles == MostCycles) {
                fprintf(stderr, "a step takes more than %u cycles\n", MostCycles);
                return 1;
            }
            tick(top);
        }
        write(top.record_o);
        write(top.segment_o);
        write(top.notices_o);
        write(cycles);
        tick(top);
        // More steps may be under way; the other end reads before it writes the next ones.
        fflush(stdout);
    }
    return 0;
}
