// Puts the tick of departure into a frame that is leaving. It stands behind the gate, so the stamp is the true start, also of a frame
// that was late; and it is combinational in valid and ready, so that it moves no departure.
//
//   first beat ──► start is known ──► sum of its four halfwords ──► lanes of later beats are replaced
//                  next cycle         three cycles later
//
// The stamp is big-endian, at halfwords place … place + 3; where a UDP or TCP checksum covers it, that is corrected (RFC 1624: the
// frame comes with the sum of a stamp of zeros). A sum of 0 becomes 0xffff, which means the same (RFC 768).
//
// place is at least 4 (the second beat), and sum_place at least 16 (the fifth): every UDP and TCP checksum over Ethernet is behind that.
module stamper
  import tare_pkg::*;
(
    input  logic   clk_i,
    input  logic   rst_ni,
    input  ticks_t now_i,
    input  logic   start_i,     // the first beat is taken
    input  stamp_t stamp_i,     // of that frame
    input  logic   transfer_i,  // a beat is taken
    input  beat_t  beat_i,
    output beat_t  beat_o
);
  ticks_t start_q;
  stamp_t stamp_q;
  logic [15:0] high_q, low_q, sum_q;
  // Of the beat that is next, by lane: does the stamp cover it, with which of its halfwords; is it the checksum.
  logic [7:0] index_q;
  logic [3:0] hit_q, sum_hit_q;
  logic [3:0][1:0] which_q;

  wire [7:0] index_d = start_i ? 8'd1 : index_q + 8'(transfer_i && index_q != '1);
  stamp_t stamp_d;
  assign stamp_d = start_i ? stamp_i : stamp_q;

  always_ff @(posedge clk_i) begin
    index_q <= index_d;
    stamp_q <= stamp_d;
    if (start_i) start_q <= now_i;
    high_q <= ones_add(start_q[63:48], start_q[47:32]);
    low_q  <= ones_add(start_q[31:16], start_q[15:0]);
    sum_q  <= ones_add(high_q, low_q);
    for (int lane = 0; lane < 4; lane++) begin
      // Modulo 256 halfwords; frames are longer, but places are not.
      automatic logic [7:0] behind = {index_d[5:0], 2'(lane)} - stamp_d.place;
      hit_q[lane]     <= stamp_d.enable && index_d < 8'd64 && behind < 8'd4;
      which_q[lane]   <= behind[1:0];
      sum_hit_q[lane] <= stamp_d.enable && stamp_d.fix_sum && index_d < 8'd64 && {index_d[5:0], 2'(lane)} == stamp_d.sum_place;
    end
    if (!rst_ni || (transfer_i && beat_i.last)) begin
      index_q   <= '1;
      hit_q     <= '0;
      sum_hit_q <= '0;
    end
  end

  // The checksum is in one lane, so one sum is enough.
  logic [15:0] old_sum, new_sum;
  always_comb begin
    old_sum = '0;
    for (int lane = 0; lane < 4; lane++) old_sum |= sum_hit_q[lane] ? swap16(beat_i.data[16*lane+:16]) : '0;
    new_sum = ~ones_add(~old_sum, sum_q);
    if (new_sum == 0) new_sum = '1;
  end

  always_comb begin
    beat_o = beat_i;
    for (int lane = 0; lane < 4; lane++) begin
      if (sum_hit_q[lane]) beat_o.data[16*lane+:16] = swap16(new_sum);
      if (hit_q[lane]) beat_o.data[16*lane+:16] = swap16(start_q[16*(3-32'(which_q[lane]))+:16]);
    end
    if (start_i) beat_o = beat_i;
  end
endmodule
