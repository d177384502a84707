// Holds live frames until their time. A departure becomes visible only when its frame is stored whole, so a
// frame that has begun never has a hole: waiting for the host happens here and not on the wire.
//
// A frame comes with its departure beside it, the same in all of its beats. Both leave separately: the
// departure as soon as the gate takes one, which is while the previous frame is still leaving.
//
// The capacity is Beats beats and Departures frames, plus the output registers. The sender's credits guarantee
// room.
//
// Rules (formal/paced_queue_rules.sv):
//   1 the rules of streams at both outputs;
//   2 from the cycle in which a departure is taken until the last beat of its frame, the frame's stream is
//     valid;
//   3 no departure shows before its frame is whole;
//   4 as many departures as frames.
module paced_queue
  import tare_pkg::*;
#(
    parameter int unsigned Beats      = 2048,
    parameter int unsigned Departures = 512
) (
    input  logic       clk_i,
    input  logic       rst_ni,
    input  logic       valid_i,
    output logic       ready_o,
    input  departure_t departure_i,
    input  beat_t      beat_i,
    output logic       departure_valid_o,
    input  logic       departure_ready_i,
    output departure_t departure_o,
    output logic       valid_o,
    input  logic       ready_i,
    output beat_t      beat_o,
    // High when nothing is inside.
    output logic       empty_o
);
  // The stored form of a departure: 72 bits, two block RAMs. Place 0 means no signature.
  typedef struct packed {
    from_e       from;
    logic [61:0] value;
    logic [7:0]  place;
  } kept_t;

  logic beats_ready, departures_ready, beats_empty, departures_empty;
  kept_t keep, kept;
  assign keep = '{from: departure_i.from, value: departure_i.value[61:0], place: departure_i.stamp.enable ? departure_i.stamp.place : '0};
  assign departure_o = '{from: kept.from, value: {2'b0, kept.value}, stamp: '{enable: kept.place != 0, place: kept.place}};

  // The sender refuses values of 2^62 or more.
  logic unused;
  assign unused = |departure_i.value[63:62];

  assign ready_o = beats_ready && departures_ready;
  assign empty_o = beats_empty && departures_empty;

  stream_fifo #(
      .T(beat_t),
      .Depth(Beats)
  ) beats (
      .clk_i,
      .rst_ni,
      .valid_i(valid_i && departures_ready),
      .ready_o(beats_ready),
      .data_i (beat_i),
      .valid_o,
      .ready_i,
      .data_o (beat_o),
      .empty_o(beats_empty)
  );

  // Written with the last beat and through the same number of stages, so a departure shows only when its frame
  // is whole.
  stream_fifo #(
      .T(kept_t),
      .Depth(Departures),
      .Rests(1'b1)  // frames take more than two cycles
  ) departures (
      .clk_i,
      .rst_ni,
      .valid_i(valid_i && beats_ready && beat_i.last),
      .ready_o(departures_ready),
      .data_i (keep),
      .valid_o(departure_valid_o),
      .ready_i(departure_ready_i),
      .data_o (kept),
      .empty_o(departures_empty)
  );
endmodule
