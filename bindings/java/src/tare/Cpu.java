package tare;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;

/** Where the calling thread runs, and for how long it has: what Java itself does not say or do, by the C library. */
final class Cpu {
    private Cpu() {}

    /** {@code cpu_set_t} of Linux. */
    private static final int CPUS = 1_024;
    private static final int THREAD_TIME = 3;

    private static final Linker LINKER = Linker.nativeLinker();
    private static final MethodHandle SET_AFFINITY = LINKER.downcallHandle(
            LINKER.defaultLookup().find("sched_setaffinity").orElseThrow(),
            FunctionDescriptor.of(JAVA_INT, JAVA_INT, JAVA_LONG, ADDRESS));
    private static final MethodHandle GET_TIME = LINKER.downcallHandle(
            LINKER.defaultLookup().find("clock_gettime").orElseThrow(),
            FunctionDescriptor.of(JAVA_INT, JAVA_INT, ADDRESS));

    /** Keeps the calling thread on one CPU. */
    static void pin(int cpu) {
        if (cpu < 0 || cpu >= CPUS) {
            throw new IllegalArgumentException("cpu " + cpu + ": they are numbered 0 to " + (CPUS - 1));
        }
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment set = arena.allocate(CPUS / 8, 8);
            set.setAtIndex(JAVA_LONG, cpu / 64, 1L << cpu % 64);
            int outcome;
            try {
                outcome = (int) SET_AFFINITY.invokeExact(0, set.byteSize(), set);
            } catch (Throwable thrown) {
                throw new AssertionError(thrown);
            }
            if (outcome != 0) {
                throw new IllegalArgumentException("cpu " + cpu + " does not exist, or this process may not use it");
            }
        }
    }

    /** How long the calling thread has had a CPU; -1 if the system does not say. */
    static long timeNs() {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment time = arena.allocate(16, 8);
            int outcome;
            try {
                outcome = (int) GET_TIME.invokeExact(THREAD_TIME, time);
            } catch (Throwable thrown) {
                throw new AssertionError(thrown);
            }
            return outcome != 0 ? -1 : time.get(JAVA_LONG, 0) * 1_000_000_000 + time.get(JAVA_LONG, 8);
        }
    }
}
