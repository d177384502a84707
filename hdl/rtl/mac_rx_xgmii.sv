// Converts the columns of XGMII, eight lanes wide, into frames with their FCS, and stamps each with the tick of
// its arrival.
//
// A frame starts in lane 0 or 4 and ends with a terminate in any lane. The next may start at any distance. The
// stamp is the tick in which the start arrives; `half` says that it was in lane 4, half a cycle later. On a
// wire of no length that is the transmitter's start plus its StartDelay.
//
//   lanes ──► two cycles of them ──► rotated: start in lane 0 ──► one beat held back ──► FCS ──► beats
//
// A frame is bad if its FCS is wrong, it contains an error, it did not end with terminate, or it has fewer than
// 64 or more than MaxBytes bytes. A start without a whole preamble or without data, and bytes without a start,
// are no frame; `noise_o` reports them. Ordered sets (of a link fault) and idle are neither frame nor noise.
//
// A received frame cannot wait, so there is no ready.
//
// Rules (formal/mac_rx_xgmii_rules.sv):
//   1 a frame comes out whole, from its start to the first control octet that is not an error;
//   2 its stamp is that of its start;
//   3 it is bad for the reasons above, and no others;
//   4 nothing else comes out, and each frame has one first and one last beat, alternately.
module mac_rx_xgmii
  import tare_pkg::*;
#(
    parameter int unsigned MaxBytes = 1522
) (
    input  logic        clk_i,
    input  logic        rst_ni,
    input  ticks_t      now_i,
    input  logic [59:0] time_i,  // ns, as of two cycles ago (see clock_ns)
    input  logic [63:0] rxd_i,
    input  logic [7:0]  rxc_i,
    output logic        valid_o,
    output received_t   received_o,
    output logic        noise_o
);
  localparam logic [7:0] Start = 8'hfb, Terminate = 8'hfd, Error = 8'hfe, Sequence = 8'h9c;
  localparam logic [55:0] Preamble = {8'hd5, {6{8'h55}}};

  typedef struct packed {
    logic [7:0][7:0] data;
    logic [7:0]      control;
  } column_t;

  typedef struct packed {
    ticks_t      tick;
    logic        half;
    logic [59:0] ns;
  } when_t;

  column_t young_q, old_q, turned;
  ticks_t now1_q, now2_q;
  logic half_q;  // the frame started in lane 4

  always_ff @(posedge clk_i) begin
    young_q <= {rxd_i, rxc_i};
    old_q   <= young_q;
    now1_q  <= now_i;
    now2_q  <= now1_q;
    if (!rst_ni) begin
      // Bytes of a frame whose start was not seen.
      young_q <= '0;
      old_q   <= '0;
    end
  end

  // A start, and the column that starts with it.
  wire start0 = old_q.control[0] && old_q.data[0] == Start;
  wire start4 = old_q.control[4] && old_q.data[4] == Start;
  // Of two starts in one column, the second counts.
  wire start = start0 || start4;
  function automatic column_t turn(column_t earlier, column_t later, logic by4);
    return by4 ? column_t'({later.data[3:0], earlier.data[7:4], later.control[3:0], earlier.control[7:4]}) : earlier;
  endfunction
  column_t beginning;
  assign beginning = turn(old_q, young_q, start4);
  assign turned    = turn(old_q, young_q, half_q);
  wire begins = start && beginning.control == 8'h01 && beginning.data[7:1] == Preamble;

  // Inside a frame: how many of its bytes are in this column, and whether it ends here.
  logic inside_q, ignore_q;
  logic ends, ends_well, wrong;
  logic [3:0] bytes;
  always_comb begin
    ends      = 1'b0;
    ends_well = 1'b0;
    wrong     = 1'b0;
    bytes     = 4'd8;
    for (int unsigned i = 0; i < 8; i++) begin
      if (turned.control[i] && !ends) begin
        if (turned.data[i] == Error) wrong = 1'b1;
        else begin
          ends      = 1'b1;
          ends_well = turned.data[i] == Terminate;
          bytes     = 4'(i);
        end
      end
    end
  end
  wire take = inside_q && bytes != 0;
  wire frame_end = inside_q && ends;
  wire ends_before = frame_end && bytes == 0;

  // Bytes outside frames, except those of ordered sets.
  wire set0 = old_q.control[0] && old_q.data[0] == Sequence;
  wire set4 = old_q.control[4] && old_q.data[4] == Sequence;
  wire stray = (old_q.control[3:0] != 4'hf && !set0) || (old_q.control[7:4] != 4'hf && !set4);
  wire odd = !inside_q && !ignore_q && !start && stray;

  // Held back: a beat is passed on once it is known whether it is the last.
  logic some_q, first_q, final_q, wrong_q;
  heard_t held_q;
  logic [13:0] length_q, held_length_q;
  when_t when_q, held_when_q;
  wire spoilt = wrong_q || wrong || ends && !ends_well;
  wire hand = some_q && (inside_q || final_q);
  wire nothing = ends_before && (!some_q || final_q);
  wire [13:0] length = length_q[13:4] == '1 ? length_q : length_q + 14'(bytes);

  // Held until the FCS of the beat is known.
  logic handed_q;
  heard_t beat_q;
  logic [13:0] handed_length_q;
  when_t beat_when_q;
  logic [31:0] crc;

  crc_beats check (
      .clk_i,
      .step_i      (take),
      .first_i     (first_q),
      .final_byte_i(3'(bytes - 4'd1)),
      .data_i      (turned.data),
      .crc_o       (crc)
  );

  always_ff @(posedge clk_i) begin
    noise_o <= odd || start && !begins || nothing;

    if (hand) begin
      some_q  <= 1'b0;
      final_q <= 1'b0;
    end
    if (take) begin
      first_q       <= 1'b0;
      some_q        <= 1'b1;
      final_q       <= ends;
      held_q        <= '{first: first_q, last: ends, final_byte: 3'(bytes - 4'd1), bad: spoilt, data: turned.data};
      wrong_q       <= wrong_q || wrong;
      length_q      <= length;
      held_length_q <= length;
      held_when_q   <= when_q;
    end
    if (frame_end) begin
      inside_q <= 1'b0;
      // The rest of this column belongs to the frame.
      ignore_q <= 1'b1;
    end
    if (start) begin
      inside_q <= begins;
      ignore_q <= !begins;
      half_q   <= start4;
      first_q  <= 1'b1;
      wrong_q  <= 1'b0;
      length_q <= '0;
      when_q   <= '{tick: now2_q, half: start4, ns: time_i};
    end else if (odd) begin
      ignore_q <= 1'b1;
    end else if (!inside_q && !stray) begin
      ignore_q <= 1'b0;
    end

    handed_q <= hand;
    if (hand) begin
      beat_q          <= held_q;
      beat_q.last     <= final_q || ends_before;
      beat_q.bad      <= held_q.bad || !final_q && ends_before && !ends_well;
      handed_length_q <= held_length_q;
      if (held_q.first) beat_when_q <= held_when_q;
    end

    valid_o <= handed_q;
    if (handed_q) begin
      received_o.beat     <= beat_q;
      received_o.beat.bad <= beat_q.last && (crc != CrcResidue || beat_q.bad || handed_length_q < 14'd64 || handed_length_q > 14'(MaxBytes));
      {received_o.stamp, received_o.half, received_o.time_} <= beat_when_q;
    end

    if (!rst_ni) begin
      inside_q <= 1'b0;
      // A frame in progress when the reset ends is ignored.
      ignore_q <= 1'b1;
      some_q   <= 1'b0;
      final_q  <= 1'b0;
      handed_q <= 1'b0;
      valid_o  <= 1'b0;
      noise_o  <= 1'b0;
    end
  end
endmodule
