// The last stage before the MAC. A frame leaves in the exact cycle requested, because this gate alone decides
// when. The departure arrives while the previous frame is still leaving, is converted into a tick, and is
// compared with the clock one cycle ahead. The payload has been fetched before that (see paced_queue), so
// fetching never moves a departure.
//
// The time that counts is the transfer of a frame's first beat. The MAC takes it only if it can start at once,
// and its preamble starts a fixed number of cycles later.
//
//   departure ──► due ──► reached? ─┐
//                                   ▼
//   frame ────────────────────────► gate ──► MAC
//
// A late frame leaves at once, and `release_o` says how late it is. It is late if the previous frame or the MAC
// was not ready, or if the departure came too late. The first relative departure after reset or `forget_i` has
// no previous frame and leaves at once.
//
// While `forget_i` is high, departures and frames that have not been offered to the MAC are swallowed, possibly
// at different times. `owed_q` is the difference of their numbers. The missing ones are swallowed as they come,
// so the n-th departure always belongs to the n-th frame.
//
// Relative values are at most 2^63 - 1; the sources of departures refuse others.
//
// Rules (formal/release_gate_rules.sv):
//   1 never early;
//   2 exact: if a departure came two ticks before it is due, its frame is available, no other frame is in
//     progress and the sink is ready, it leaves in the tick in which it is due;
//   3 order: the n-th frame leaves by the n-th departure, whole and unchanged, none twice, none between;
//   4 lateness: each start is reported, with exactly start - due;
//   5 the rules of streams at the output, also while forgetting;
//   6 each frame is started or reported as forgotten.
module release_gate
  import tare_pkg::*;
#(
    // Maximum difference between departures and frames while they are forgotten, as a power of two.
    parameter int unsigned OwedWidth = 12
) (
    input  logic       clk_i,
    input  logic       rst_ni,
    input  ticks_t     now_i,
    input  ticks_t     next_i,
    input  logic       forget_i,
    input  logic       departure_valid_i,
    output logic       departure_ready_o,
    input  departure_t departure_i,
    input  logic       valid_i,
    output logic       ready_o,
    input  beat_t      beat_i,
    output logic       valid_o,
    input  logic       ready_i,
    output beat_t      beat_o,
    // High in the cycle in which a frame leaves, with the place of its signature.
    output logic       start_o,
    output stamp_t     stamp_o,
    // One cycle later.
    output logic       release_valid_o,
    output release_t   release_o,
    // High for one cycle for each frame that was forgotten.
    output logic       forgotten_o
);
  // The departure that waits, and its properties.
  logic held_q, checked_q, reached_q, untimed_q;
  ticks_t due_q;
  stamp_t stamp_q;
  // A frame is leaving, or is being swallowed.
  logic inside_q, swallowing_q;
  // The previous frame.
  logic previous_q;
  ticks_t previous_start_q, previous_due_q;  // a frame without a time was due when it left

  logic signed [OwedWidth-1:0] owed_q;
  // The sign of owed_q one cycle ago, if it still holds. In the cycle after a change none of them is high. This
  // keeps the sum off the path to `ready_o`.
  logic positive_q, negative_q, settled_q;

  // A departure that is checked is also held.
  wire open = checked_q && reached_q && !inside_q && !swallowing_q;
  wire pass = inside_q || open;
  wire swallow = swallowing_q || (!inside_q && !held_q && (forget_i || positive_q));
  wire begin_swallow = swallow && !swallowing_q && valid_i;

  assign valid_o = valid_i && pass;
  assign ready_o = pass ? ready_i : swallow;
  assign beat_o  = beat_i;
  assign start_o = open && valid_i && ready_i;
  assign stamp_o = stamp_q;
  assign forgotten_o = begin_swallow;

  // Departures.
  wire drop = forget_i || negative_q;
  // Only when nothing is owed, so that a held departure belongs to the next frame.
  assign departure_ready_o = drop || (!held_q && settled_q);
  wire taken = departure_valid_i && departure_ready_o;
  wire load = taken && !drop;
  // A beat that was offered to the MAC remains offered.
  wire drop_held = forget_i && held_q && !(open && valid_i);

  wire relative = departure_i.from == AfterStart || departure_i.from == AfterDue;
  wire no_time = departure_i.from == AtOnce || (relative && !previous_q);
  ticks_t base;
  always_comb begin
    unique case (departure_i.from)
      AfterStart: base = previous_start_q;
      AfterDue: base = previous_due_q;
      default: base = '0;
    endcase
  end

  // The change of owed_q, -1 to 2, as a single sum instead of three.
  wire dropped = taken && drop;
  logic signed [2:0] owes;
  assign owes[0] = dropped ^ drop_held ^ begin_swallow;
  assign owes[1] = begin_swallow ? !dropped && !drop_held : dropped && drop_held;
  assign owes[2] = begin_swallow && !dropped && !drop_held;

  always_ff @(posedge clk_i) begin
    checked_q <= held_q && !start_o && !drop_held;
    reached_q <= untimed_q || next_i >= due_q;
    if (start_o || drop_held) held_q <= 1'b0;
    if (load) begin
      held_q    <= 1'b1;
      checked_q <= 1'b0;
      untimed_q <= no_time;
      due_q     <= base + departure_i.value;
      stamp_q   <= departure_i.stamp;
    end

    if (start_o) begin
      previous_q         <= 1'b1;
      previous_start_q   <= now_i;
      previous_due_q     <= untimed_q ? now_i : due_q;
    end
    if (forget_i) previous_q <= 1'b0;

    if (valid_o && ready_i) inside_q <= !beat_i.last;
    if (swallow && valid_i) swallowing_q <= !beat_i.last;
    owed_q <= owed_q + OwedWidth'(owes);

    positive_q <= owed_q > 0 && !begin_swallow;
    negative_q <= owed_q < 0 && !(taken && drop) && !drop_held;
    settled_q  <= owed_q == 0 && !(taken && drop) && !drop_held && !begin_swallow;

    release_valid_o <= start_o;
    if (!rst_ni) begin
      held_q          <= 1'b0;
      checked_q       <= 1'b0;
      inside_q        <= 1'b0;
      swallowing_q    <= 1'b0;
      previous_q      <= 1'b0;
      owed_q          <= '0;
      positive_q      <= 1'b0;
      negative_q      <= 1'b0;
      settled_q       <= 1'b0;
      release_valid_o <= 1'b0;
    end
  end

  // The frame that started in the last cycle is now the previous one.
  assign release_o.start = previous_start_q;
  assign release_o.late  = previous_start_q - previous_due_q;
endmodule
