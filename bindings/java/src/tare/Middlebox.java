package tare;

import java.io.IOException;

/** What is done with the frames that a {@link Poller} receives: one thread's part of it. */
@FunctionalInterface
public interface Middlebox extends AutoCloseable {
    /**
     * Does something with a burst, which is released when this returns.
     *
     * @param burst at least one frame
     * @throws TareException the library refused
     * @throws IOException a file cannot be written
     */
    void take(Burst burst) throws TareException, IOException;

    /**
     * Receives once, without waiting. Who looks at no frame by itself may do it by one call of the library.
     *
     * @param in where frames come from
     * @param most how many at once
     * @param tally where they are counted
     * @return how many there were
     * @throws TareException the library refused, or no frame will ever come again
     * @throws IOException a file cannot be written
     */
    default int poll(Port in, int most, Tally tally) throws TareException, IOException {
        Burst burst = in.receive(most);
        int count = burst.count();
        if (count > 0) {
            tally.add(count, burst.bytes());
            take(burst);
            in.release();
        }
        return count;
    }

    /**
     * Gives up what it has, files for instance; ports belong to who opened them.
     *
     * @throws IOException a file cannot be written
     */
    @Override
    default void close() throws IOException {}
}
