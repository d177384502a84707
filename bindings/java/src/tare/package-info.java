/**
 * Tare for Java: ports whose frames come in bursts, firewall rules, signatures and whole runs, over libtare.
 *
 * <pre>
 *   Port ─ lend ─► fill a Burst ─► send          Port ─ receive ─► look at a Burst ─► release
 *   Poller (a thread, a queue) ─ receive ─► Middlebox (Capture, Firewall, FilterWall) ─► Port
 * </pre>
 *
 * Frames lie in memory outside of Java's heap. One {@link tare.FrameAccessor} moves over the frames of a burst, so
 * that nothing is allocated for a frame, nor for a burst.
 *
 * <p>What the library refuses is a {@link tare.TareException} with its {@link tare.TareException.Kind}. What is wrong
 * in the program itself (a closed port, another thread's port, a burst that was released, a byte outside of a frame) is
 * an {@link java.lang.IllegalStateException} or {@link java.lang.IndexOutOfBoundsException}. Neither is ever a crash.
 */
package tare;
