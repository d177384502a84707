// Rules of mac_tx_xgmii: where a frame starts on the wire, and every octet of every lane. What must be on the
// wire is computed here from what was taken, with positions counted in bytes as in clause 46; the module counts
// half cycles.
//
// A cycle is 8 bytes. Positions are counted as if a frame started in the cycle in which its first beat is
// taken; in fact everything is StartDelay cycles later. The value of the FCS does not matter here (crc_beats
// has its own rules), but it must include the beats that leave, and be sent where it belongs.
module mac_tx_xgmii_rules
  import tare_pkg::*;
#(
    parameter int unsigned Turn = 1,
    parameter int unsigned StartDelay = Turn + 3
) (
    input logic        clk_i,
    input logic        rst_ni,
    input logic        valid_i,
    input logic        ready_o,
    input beat_t       beat_i,
    input logic        step_o,
    input logic [63:0] data_o,
    input logic [63:0] data_i,
    input logic [63:0] txd_o,
    input logic [7:0]  txc_o,
    input logic        sent_o,
    input logic        underrun_o,
    input logic [31:0] crc,
    input logic        counted,
    input logic        counted_first,
    input logic [2:0]  counted_final,
    input logic [2:0]  state_q,
    input logic [1:0]  count_q,
    input logic [2:0]  beats_q,
    input logic        long_q,
    input logic        fresh_q,
    input logic        half_q,
    input logic [1:0]  rest_q,
    input logic        lane4_q,
    input logic        late_q,
    input logic [1:0]  deficit_q
);
  // The states by number.
  localparam logic [2:0] Open = 3'd0, Body = 3'd1, Pad = 3'd2, Gap = 3'd3, Broken = 3'd4;
  localparam logic [7:0] Idle = 8'h07, Start = 8'hfb, Terminate = 8'hfd, Error = 8'hfe;
  localparam int unsigned D = StartDelay;

  reset_rules reset (.*);
  stream_rules #(.Assume(1'b1), .Width($bits(beat_t))) in (
      .clk_i, .rst_ni, .valid_i, .ready_i(ready_o), .data_i(beat_i));

  typedef logic signed [7:0] place_t;

  // The frame at the input.
  logic between;         // first beat taken, last one not
  logic padding;         // last beat taken, fewer than eight
  logic broken;          // a hole occurred, and no frame began since
  logic [3:0] beats;     // beats taken or padded, up to 8
  logic lane4;
  // Bytes from the last terminate to a start in lane 0, if a frame were taken in this cycle; up to 64.
  place_t since;
  logic [1:0] deficit;

  wire taken = valid_i && ready_o;
  logic broken_rest;     // the last beat of a broken frame has not come
  wire first = taken && !between;
  wire hole = between && !broken_rest && !valid_i;
  wire more = between && !broken_rest && taken;

  // How many bytes the gap before this lane is too short, including the deficit so far.
  function automatic place_t short_(logic four);
    return place_t'(8'sd12) + place_t'({6'b0, deficit}) - since - (four ? place_t'(8'sd4) : place_t'(8'sd0));
  endfunction
  wire in_lane4 = short_(1'b0) > 3;
  wire place_t shortness = short_(in_lane4);

  typedef struct packed {
    logic       valid;
    logic       first;
    logic       last;
    logic [2:0] final_byte;
    logic       lane4;
    logic       broken;
  } event_t;

  event_t ev;
  event_t [D+3:1] past;  // index: cycles ago
  wire eighth = beats >= 7;
  always_comb begin
    ev            = '0;
    ev.valid      = first || more || hole || padding;
    ev.first      = first;
    ev.lane4      = first ? in_lane4 : lane4;
    ev.broken     = hole;
    ev.last       = hole || (more && beat_i.last || padding) && eighth;
    ev.final_byte = 3'd7;
    if (ev.last && padding) ev.final_byte = 3'd3;
    if (ev.last && more) ev.final_byte = beats == 7 && beat_i.final_byte < 3 ? 3'd3 : beat_i.final_byte;
  end
  // The terminate is five bytes after the last byte, and the start one column before the first beat.
  wire place_t after_end = -place_t'(8'sd5) - (ev.lane4 ? place_t'(8'sd4) : place_t'(8'sd0)) - place_t'({5'b0, ev.final_byte});

  logic begun_q = 1'b0;
  logic [D+3:1][63:0] data_past;
  logic [2:1][31:0] crc_past;
  logic [63:0] shown, shown_mask;
  always_comb for (int i = 0; i < 8; i++) shown_mask[8*i+:8] = !beat_i.last || i <= 32'(beat_i.final_byte) ? 8'hff : 8'h00;
  logic shift, shift_before;  // the last start was in lane 4; the same one column ago

  always_ff @(posedge clk_i) begin
    begun_q   <= 1'b1;
    past      <= {past[D+2:1], ev};
    data_past <= {data_past[D+2:1], data_i};
    crc_past  <= {crc_past[1], crc};
    shown     <= (first || more) ? beat_i.data & shown_mask : '0;
    since     <= since > 56 ? place_t'(8'sd64) : since + place_t'(8'sd8);
    if (ev.last) since <= after_end;
    if (first) begin
      lane4   <= in_lane4;
      deficit <= shortness > 0 ? shortness[1:0] : '0;
      broken  <= 1'b0;
    end
    if (first || more) between <= !beat_i.last;
    if (ev.valid) beats <= first ? 4'd1 : beats + 4'(beats != 8);
    if ((first || more) && beat_i.last) padding <= first || !eighth;
    if (padding && eighth) padding <= 1'b0;
    if (hole) begin
      broken      <= 1'b1;
      broken_rest <= 1'b1;
    end
    if (broken_rest && taken && beat_i.last) begin
      broken_rest <= 1'b0;
      between     <= 1'b0;
    end
    if (past[D-1].first) shift <= past[D-1].lane4;
    shift_before <= shift;
    if (!rst_ni) begin
      past        <= '0;
      since       <= place_t'(8'sd64);
      deficit     <= '0;
      between     <= 1'b0;
      padding     <= 1'b0;
      broken      <= 1'b0;
      broken_rest <= 1'b0;
      beats       <= '0;
      shift       <= 1'b0;
      shift_before <= 1'b0;
    end
  end

  // The octet of a lane with its control bit on top, without a shift. `start` is the event whose first column
  // this may be, `now` that of a data column, `end_` that of the previous column.
  function automatic logic [8:0] behind(event_t e, logic [4:0] n, logic [31:0] check);
    // n octets after the last one; 0 is the first of the FCS.
    if (n < 4) return e.broken ? {1'b1, Error} : {1'b0, 8'(~check >> {n[1:0], 3'b0})};
    return {1'b1, n == 4 ? Terminate : Idle};
  endfunction

  function automatic logic [8:0] octet(
      logic [2:0] lane, event_t start, event_t now, event_t end_, logic [63:0] data, logic [31:0] check, logic [31:0] check_end);
    if (start.first) return lane == 0 ? {1'b1, Start} : {1'b0, lane == 7 ? 8'hd5 : 8'h55};
    if (now.valid && lane <= now.final_byte) return now.broken ? {1'b1, Error} : {1'b0, data[8*lane+:8]};
    if (now.valid) return behind(now, 5'(lane) - 5'(now.final_byte) - 5'd1, check);
    if (end_.valid && end_.last) return behind(end_, 5'(lane) + 5'd7 - 5'(end_.final_byte), check_end);
    return {1'b1, Idle};
  endfunction

  logic [7:0][8:0] column, column_before, is, must, quiet;
  assign quiet = {8{{1'b1, Idle}}};
  assign must = !shift ? column : {column[3:0], shift_before ? column_before[7:4] : quiet[7:4]};
  always_comb begin
    for (int unsigned i = 0; i < 8; i++) begin
      column[i] = octet(3'(i), past[D], past[D+1], past[D+2], data_past[3], crc_past[1], crc_past[2]);
      is[i] = {txc_o[i], txd_o[8*i+:8]};
    end
  end
  always_ff @(posedge clk_i) begin
    column_before <= column;
    if (!rst_ni) column_before <= quiet;
  end

  wire place_t wait_ = place_t'({3'b0, count_q, 3'b0}) + place_t'(8'sd8);
  wire place_t short_open = place_t'(8'sd12) + place_t'({6'b0, deficit}) - since - (state_q == Gap ? wait_ : place_t'(8'sd0));

  always_comb begin
    // Every beat but the last is full.
    if (valid_i && !beat_i.last) assume (beat_i.final_byte == 3'd7);

    if (begun_q && rst_ni) begin
      if (first) rule_2_deficit : assert (shortness <= 3);
      if (!between && !padding && !broken && short_(1'b1) <= 3) rule_2_no_longer : assert (ready_o);
      if (between) rule_2_each_beat : assert (ready_o);
      if (padding) rule_2_one_frame : assert (!ready_o);
      rule_3_broken_by_a_hole_alone : assert (!underrun_o || broken);
      rule_4_shown : assert (step_o == past[1].valid && (!step_o || data_o == shown));
      // The stamper relies on this: a frame's first beat never coincides with another frame's beat.
      if (first) rule_4_apart : assert (!step_o);
      rule_4_counted : assert (counted == past[1+Turn].valid);
      if (counted) rule_4_counted_right : assert (counted_first == past[1+Turn].first && counted_final == past[1+Turn].final_byte);
      rule_4_sent : assert (sent_o == (past[D+1].last && !past[D+1].broken));
      rule_1_4_lanes : assert (is == must);
      // What was to come later has come.
      if (shift_before && !shift) rule_4_nothing_cut_off : assert (column_before[7:4] == quiet[7:4]);

      // Meaning of the registers.
      assert (state_q <= Broken && beats <= 8 && since <= 64 && since >= -16 && late_q == shift);
      assert (broken_rest == (state_q == Broken) && (between == (state_q inside {Body, Broken})) && padding == (state_q == Pad));
      if (broken_rest) assert (broken);
      if (state_q inside {Body, Pad}) begin
        assert (beats >= 1 && beats_q == (beats >= 7 ? 3'd7 : 3'(beats)) && long_q == (beats == 8));
        assert (lane4_q == lane4 && deficit_q == deficit && !broken);
      end
      if (state_q == Pad) assert (beats < 8);
      if (fresh_q) assert (state_q == Open);
      if (state_q == Gap) assert (count_q <= 2);
      if (state_q == Gap || fresh_q) begin
        assert (half_q == (short_open > 3) && short_open <= 7 && (short_open >= 0 || broken));
        assert (rest_q == (short_open > 3 ? 2'(short_open - 8'sd4) : short_open > 0 ? 2'(short_open) : 2'd0));
      end
      if (state_q == Open && !fresh_q) assert (short_(1'b0) <= 0);
    end

    cover (rst_ni && first && in_lane4 && deficit == 3);
    cover (rst_ni && underrun_o);
    cover (rst_ni && sent_o && past[D+1].final_byte == 7);
  end
endmodule

bind mac_tx_xgmii mac_tx_xgmii_rules #(.Turn(Turn)) rules (
    .state_q(state_q), .counted(back.valid), .counted_first(back.first), .counted_final(back.final_byte), .*);
