// Rules of mac_tx_gmii, on the times of what it does. Which bytes it sends is simulated, with a CRC that others wrote.
module mac_tx_gmii_rules
  import tare_pkg::*;
(
    input logic       clk_i,
    input logic       rst_ni,
    input logic       valid_i,
    input logic       ready_o,
    input beat_t      beat_i,
    input logic [7:0] txd_o,
    input logic       tx_en_o,
    input logic       tx_er_o,
    input logic       sent_o,
    input logic       underrun_o,
    input logic [2:0] state_q,
    input logic [3:0] count_q,
    input beat_t      beat_q
);
  // The states by their numbers.
  localparam logic [2:0] Idle = 3'd0, Preamble = 3'd1, Data = 3'd2, Pad = 3'd3, Fcs = 3'd4, Gap = 3'd5, Broken = 3'd6;

  reset_rules reset (.*);
  stream_rules #(.Assume(1'b1), .Width($bits(beat_t))) in (
      .clk_i, .rst_ni, .valid_i, .ready_i(ready_o), .data_i(beat_i));

  wire taken = valid_i && ready_o;
  logic between;  // a frame is between its first and last beat at the input
  wire first = taken && !between;

  logic past_q = 1'b0;
  logic first_q, tx_en_q, tx_er_q, sent_q;
  logic broken;  // an underrun, and no frame since
  logic [3:0] silent_before, silent;  // silent cycles in a row, up to 15: before this one, and with it
  assign silent = tx_en_o ? '0 : silent_before + 4'(silent_before != '1);
  logic [2:0] frames_q;

  always_ff @(posedge clk_i) begin
    past_q  <= rst_ni;
    first_q <= first;
    tx_en_q <= tx_en_o;
    tx_er_q <= tx_er_o;
    sent_q  <= sent_o;
    silent_before <= silent;
    if (taken) between <= !beat_i.last;
    if (first) broken <= 1'b0;
    if (state_q == Broken) broken <= 1'b1;
    if (first && silent == 12) frames_q <= frames_q + 3'(frames_q != 3'd7);
    if (!rst_ni) begin
      first_q  <= 1'b0;
      tx_en_q  <= 1'b0;
      tx_er_q  <= 1'b0;
      sent_q   <= 1'b0;
      between  <= 1'b0;
      broken   <= 1'b0;
      frames_q <= '0;
      silent_before <= 4'd12;
    end
  end

  always_comb begin
    if (past_q) begin
      if (first_q) rule_1_starts : assert (tx_en_o && !tx_en_q && txd_o == 8'h55);
      if (tx_en_o && !tx_en_q && !tx_er_o) rule_1_only_then : assert (first_q);
      if (first) rule_2_silence : assert (silent >= 12);
      if (silent >= 12 && !broken && state_q != Broken) rule_2_no_longer : assert (ready_o);
      if (!tx_en_o && tx_en_q) rule_3_whole : assert (sent_q || tx_er_q || broken || state_q == Broken);

      // What the registers mean.
      assert (state_q != 3'd7);
      assert (!tx_er_o || state_q == Broken || state_q == Gap);
      if (state_q == Idle) assert (silent >= 12 && !tx_en_o && !between && !sent_o);
      if (state_q inside {Preamble, Data, Pad, Fcs}) assert (tx_en_o && !tx_er_o && !broken && !sent_o);
      if (state_q == Preamble) assert (count_q >= 1 && count_q <= 7 && (count_q == 1) == first_q);
      if (state_q != Preamble) assert (!first_q);
      if (state_q == Fcs) assert (count_q <= 3);
      if (state_q inside {Preamble, Data, Broken}) assert (between == !beat_q.last);
      if (state_q inside {Pad, Fcs, Gap}) assert (!between);
      if (state_q == Gap) begin
        assert (count_q <= 12 && (broken || count_q >= 1));
        if (count_q >= 2) assert (!tx_en_o);
        assert (silent + 1 >= count_q);
        if (!broken) assert (silent + 1 == count_q && tx_en_o == (count_q == 1) && sent_o == (count_q == 1));
      end
      if (state_q != Gap) assert (!sent_o);
      if (state_q == Broken) assert (!tx_en_o || tx_er_o || count_q == 0);
      cover (frames_q == 1 && sent_o);
      cover (underrun_o);
    end
  end
endmodule

bind mac_tx_gmii mac_tx_gmii_rules rules (.state_q(state_q), .*);
