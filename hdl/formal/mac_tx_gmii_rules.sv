// Rules of mac_tx_gmii: its timing, and the bytes that it sends. The FCS is computed here a second time, bit by
// bit and with the polynomial as IEEE 802.3 writes it, not reflected. That it is the usual CRC-32 is simulated,
// too.
module mac_tx_gmii_rules
  import tare_pkg::*;
(
    input logic       clk_i,
    input logic       rst_ni,
    input logic       valid_i,
    input logic       ready_o,
    input beat_t      beat_i,
    input logic       step_o,
    input logic [7:0] byte_o,
    input logic [7:0] byte_i,
    input logic [7:0] txd_o,
    input logic       tx_en_o,
    input logic       tx_er_o,
    input logic       sent_o,
    input logic       underrun_o,
    input logic [2:0] state_q,
    input logic [3:0] count_q,
    input beat_t      beat_q,
    input logic [2:0] byte_q,
    input logic [5:0] bytes_q,
    input logic [31:0] crc_q,
    input logic       wants_q,
    input logic       end_of_frame_q,
    input logic       long_enough_q,
    input logic [7:0] now_q
);
  // The states by number.
  localparam logic [2:0] Idle = 3'd0, Preamble = 3'd1, Data = 3'd2, Pad = 3'd3, Fcs = 3'd4, Gap = 3'd5, Broken = 3'd6;

  reset_rules reset (.*);
  stream_rules #(.Assume(1'b1), .Width($bits(beat_t))) in (
      .clk_i, .rst_ni, .valid_i, .ready_i(ready_o), .data_i(beat_i));

  wire taken = valid_i && ready_o;
  logic between;  // inside a frame at the input
  wire first = taken && !between;

  // A hole: the frame's next beat is not available when needed. A source that keeps the rules of frames has
  // none.
  wire hole = between && ready_o && !valid_i;

  logic begun_q = 1'b0;
  logic first_q, taken_q, tx_en_q, tx_er_q, sent_q;
  logic broken;  // a hole occurred, and no frame began since
  logic [3:0] silent_before, silent;  // consecutive silent cycles, up to 15: before this one, and with it
  assign silent = tx_en_o ? '0 : silent_before + 4'(silent_before != '1);

  // The frame on the wire: bytes before the current one, up to 8; bytes between delimiter and FCS, up to 60;
  // bytes of FCS.
  logic [3:0] ahead;
  logic [5:0] long;
  logic [2:0] checks;
  logic step_q;
  logic [7:0] loaded, byte_before_q;  // the current byte, as given at byte_i; the previous one
  beat_t source;         // the beat that is being sent
  logic [3:0] sent;      // how many of its bytes were sent
  logic [31:0] crc;      // not reflected: bit 31 is the first on the wire

  function automatic logic [31:0] crc_bits(logic [31:0] value, logic [7:0] data);
    logic [31:0] c;
    c = value;
    for (int i = 0; i < 8; i++) c = {c[30:0], 1'b0} ^ ((c[31] ^ data[i]) ? 32'h04c1_1db7 : '0);
    return c;
  endfunction

  function automatic logic [31:0] reversed(logic [31:0] value);
    for (int i = 0; i < 32; i++) reversed[i] = value[31-i];
  endfunction

  always_ff @(posedge clk_i) begin
    begun_q <= 1'b1;
    first_q <= first;
    taken_q <= taken;
    tx_en_q <= tx_en_o;
    tx_er_q <= tx_er_o;
    sent_q  <= sent_o;
    step_q  <= step_o;
    byte_before_q <= loaded;
    if (taken || step_o) loaded <= byte_i;
    silent_before <= silent;
    ahead <= !tx_en_o ? '0 : ahead + 4'(ahead != 4'd8);
    if (first) begin
      long   <= '0;
      checks <= '0;
      crc    <= '1;
    end else begin
      if (step_o) begin
        long <= long + 6'(long != 6'd60);
        crc  <= crc_bits(crc, loaded);
        sent <= sent + 4'(sent != 4'd8);
      end
      if (tx_en_o && ahead == 8 && !step_q) checks <= checks + 1'b1;
    end
    if (taken) begin
      between <= !beat_i.last;
      source  <= beat_i;
      sent    <= '0;
    end
    if (first) broken <= 1'b0;
    if (hole) broken <= 1'b1;
    if (!rst_ni) begin
      first_q  <= 1'b0;
      taken_q  <= 1'b0;
      tx_en_q  <= 1'b0;
      tx_er_q  <= 1'b0;
      sent_q   <= 1'b0;
      step_q   <= 1'b0;
      between  <= 1'b0;
      broken   <= 1'b0;
      ahead    <= '0;
      checks   <= '0;
      long     <= '0;
      silent_before <= 4'd12;
    end
  end

  wire [3:0] all = source.last ? 4'(source.final_byte) + 1'b1 : 4'd8;

  always_comb begin
    // Every beat but the last is full.
    if (valid_i && !beat_i.last) assume (beat_i.final_byte == 3'd7);

    if (begun_q) begin
      if (first_q) rule_1_starts : assert (tx_en_o && !tx_en_q && txd_o == 8'h55);
      if (tx_en_o && !tx_en_q && !tx_er_o) rule_1_only_then : assert (first_q);
      if (first) rule_2_silence : assert (silent >= 12);
      if (silent >= 12 && !broken) rule_2_no_longer : assert (ready_o);
      if (!tx_en_o && tx_en_q) rule_3_whole : assert (sent_q || tx_er_q || broken);
      if (tx_er_o || underrun_o) rule_3_broken_by_a_hole_alone : assert (broken);
      if (tx_en_o && !tx_er_o) begin
        if (ahead < 7) rule_4_preamble : assert (txd_o == 8'h55);
        if (ahead == 7) rule_4_delimiter : assert (txd_o == 8'hd5);
        if (ahead == 8 && step_q) rule_4_bytes : assert (txd_o == byte_before_q);
        if (ahead == 8 && !step_q) begin
          rule_4_long_enough : assert (long == 60 && checks < 4);
          rule_4_fcs : assert (txd_o == 8'(~reversed(crc) >> {checks[1:0], 3'b0}));
        end
      end
      // The bytes of each beat in order, then zeros. Each is shown one cycle before it is sent.
      if (first) rule_4_first_shown : assert (byte_o == beat_i.data[7:0]);
      else if (step_o && !hole)
        rule_4_shown : assert (byte_o == (taken ? beat_i.data[7:0] : sent + 1 < all ? 8'(source.data >> {3'(sent + 1), 3'b0}) : 8'h00));
      if (step_o) begin
        rule_4_padded : assert (sent < all || long < 60);
      end
      // The next beat replaces a beat when all of its bytes were sent.
      if (taken && !first && !broken) rule_4_no_byte_left_out : assert (step_o && sent == 7);
      // So a source may need a cycle between two beats.
      if (taken_q && between && !broken) rule_4_not_at_once : assert (!ready_o);
      if (sent_o) rule_4_whole_fcs : assert (checks == 3 && !between);

      // Meaning of the registers.
      assert (state_q != 3'd7 && ahead <= 8 && long <= 60);
      if (state_q == Idle) assert (silent >= 12 && !tx_en_o && !between && !sent_o && !first_q);
      if (state_q inside {Preamble, Data, Pad, Fcs}) assert (tx_en_o && !tx_er_o && !broken && !sent_o && !underrun_o);
      if (state_q == Preamble) begin
        assert (count_q >= 1 && count_q <= 7 && (count_q == 1) == first_q && ahead + 1 == count_q);
        assert (sent == 0 && long == 0 && bytes_q == 0 && byte_q == 0 && crc == '1 && checks == 0 && !step_q);
        assert (beat_q == source);
      end
      if (state_q != Preamble) assert (!first_q);
      if (state_q inside {Preamble, Data}) assert (end_of_frame_q == (beat_q.last && (byte_q == beat_q.final_byte || byte_q == 3'd7)));
      assert (wants_q == (state_q == Data && byte_q == 3'd7 && !beat_q.last));
      if (state_q inside {Data, Pad}) begin
        assert (ahead >= 7 && (ahead == 7) == (long == 0) && step_q == (long != 0) && checks == 0);
      end
      if (state_q == Data) begin
        assert (sent == 4'(byte_q) && sent < all);
        assert (beat_q.last == source.last && beat_q.final_byte == source.final_byte);
        // Bytes shifted in at the top have no meaning.
        assert (((beat_q.data ^ (source.data >> {byte_q, 3'b0})) & ('1 >> {byte_q, 3'b0})) == 64'd0);
      end
      if (state_q == Pad) assert (sent >= all && sent <= 8 && long < 60);
      if (state_q inside {Preamble, Data, Pad}) begin
        assert (now_q == loaded);
        assert (crc_q == reversed(crc));
        assert (bytes_q == (long == 60 ? 6'd59 : long) && long_enough_q == (bytes_q == 59));
      end
      if (state_q == Fcs) begin
        assert (count_q <= 3 && ahead == 8 && step_q == (count_q == 0) && long == 60);
        assert (checks == (count_q == 0 ? 3'd0 : 3'(count_q - 1'b1)));
        assert (crc_q == reversed(crc) >> {count_q[1:0], 3'b0});
      end
      if (state_q inside {Preamble, Data}) assert (between == !source.last && (source.last || source.final_byte == 7));
      if (state_q == Broken) assert (broken && between == !beat_q.last);
      if (state_q inside {Pad, Fcs, Gap}) assert (!between);
      if (state_q == Gap) begin
        assert (count_q <= 12 && (broken || count_q >= 1));
        if (count_q >= 2) assert (!tx_en_o);
        assert (silent + 1 >= count_q);
        if (!broken) assert (silent + 1 == count_q && tx_en_o == (count_q == 1) && sent_o == (count_q == 1) && !tx_er_o);
        if (!broken && count_q == 1) assert (ahead == 8 && !step_q && checks == 3 && long == 60);
      end
      if (state_q != Gap) assert (!sent_o);
      cover (first && silent == 12);
      cover (underrun_o);
    end
  end
endmodule

bind mac_tx_gmii mac_tx_gmii_rules rules (.state_q(state_q), .*);
