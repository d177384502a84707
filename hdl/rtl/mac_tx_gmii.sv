// Converts frames into the bytes of GMII (IEEE 802.3 clause 35): preamble, frame, padding to 60 bytes, FCS, and
// 12 bytes of silence.
//
// Outside a frame, `ready_o` is high only when a preamble can start at once. The first byte of the preamble is
// always on the wire StartDelay = 1 cycle after the first beat was taken. So the time of the first beat
// determines the start of the preamble.
//
// Inside a frame the next beat must be available when it is needed; paced_queue and generator ensure that.
// Otherwise the frame ends with an error on the wire, the rest of it is discarded, and `underrun_o` reports it.
//
// Each byte of a frame and its padding appears at `byte_o` one cycle before its turn, and `byte_i` is sent in
// its place (see stamper). The first appears with the first beat, the others in cycles with `step_o`. So the
// cycle in which the FCS includes the byte has no selection left to make.
//
// Rules (formal/mac_tx_gmii_rules.sv):
//   1 the preamble starts one cycle after the first beat was taken, and at no other time;
//   2 at least 12 cycles between two frames are silent, and the next may start after exactly 12;
//   3 a frame is never interrupted by silence.
module mac_tx_gmii
  import tare_pkg::*;
(
    input  logic       clk_i,
    input  logic       rst_ni,
    input  logic       valid_i,
    output logic       ready_o,
    input  beat_t      beat_i,
    output logic       step_o,
    output logic [7:0] byte_o,
    input  logic [7:0] byte_i,
    output logic [7:0] txd_o,
    output logic       tx_en_o,
    output logic       tx_er_o,
    output logic       sent_o,     // a frame is complete
    output logic       underrun_o
);
  typedef enum logic [2:0] {
    Idle,
    Preamble,
    Data,
    Pad,
    Fcs,
    Gap,
    Broken
  } state_e;

  state_e state_q;
  logic [3:0] count_q;  // cycles in the state
  beat_t beat_q;
  logic [2:0] byte_q;  // index in the beat
  logic [5:0] bytes_q;  // bytes of the frame, up to 59
  logic long_enough_q;  // the current byte is the 60th or later
  logic [31:0] crc_q;

  wire take = valid_i && ready_o;
  logic wants_q;  // the last byte of a beat other than the last one
  logic [7:0] now_q;

  logic end_of_frame_q;  // the current byte in Data is the frame's last

  assign step_o = state_q == Data || state_q == Pad;
  // Depends on whether a beat is wanted, not on whether one comes. If none comes, the frame is broken and its
  // bytes do not matter.
  assign byte_o = state_q == Idle || wants_q ? beat_i.data[7:0] : state_q == Pad || end_of_frame_q ? 8'h00 : beat_q.data[15:8];

  assign ready_o = state_q == Idle || wants_q || (state_q == Broken && !beat_q.last);

  always_ff @(posedge clk_i) begin
    // Has no meaning while tx_en_o is low.
    txd_o      <= ~crc_q[7:0];
    tx_en_o    <= !(state_q == Gap || (state_q == Idle && !valid_i) || (state_q == Broken && count_q != 0));
    tx_er_o    <= 1'b0;
    sent_o     <= 1'b0;
    underrun_o <= 1'b0;
    count_q    <= count_q + 1'b1;

    unique case (state_q)
      Idle: begin
        crc_q   <= '1;
        bytes_q <= '0;
        long_enough_q <= 1'b0;
        byte_q  <= '0;
        count_q <= 4'd1;
        txd_o   <= 8'h55;
        if (valid_i) state_q <= Preamble;
      end
      Preamble: begin
        txd_o   <= count_q == 4'd7 ? 8'hd5 : 8'h55;
        if (count_q == 4'd7) state_q <= Data;
      end
      Data, Pad: begin
        txd_o   <= now_q;
        crc_q   <= crc_byte(crc_q, now_q);
        byte_q  <= byte_q + 1'b1;
        count_q <= '0;
        if (!long_enough_q) begin
          bytes_q       <= bytes_q + 1'b1;
          long_enough_q <= bytes_q == 6'(MinFrameBytes - 2);
        end
        // Bytes shifted in at the top are never sent.
        if (state_q == Data) beat_q.data[55:0] <= beat_q.data[63:8];
        if (state_q == Pad) begin
          if (long_enough_q) state_q <= Fcs;
        end else if (end_of_frame_q) begin
          state_q <= long_enough_q ? Fcs : Pad;
        end else if (wants_q) begin
          byte_q <= '0;
          if (!valid_i) begin
            state_q    <= Broken;
            underrun_o <= 1'b1;
          end
        end
      end
      Fcs: begin
        crc_q   <= crc_q >> 8;
        if (count_q == 4'd3) begin
          state_q <= Gap;
          sent_o  <= 1'b1;
          count_q <= 4'd1;
        end
      end
      // In the first cycle of this state the last byte is still on the wire. The cycle that takes the next
      // frame is the last silent one.
      Gap: if (count_q == 4'(GapBytes)) state_q <= Idle;
      Broken: begin
        // One byte marked as wrong, then silence until the last beat has passed.
        tx_er_o <= count_q == 0;
        if (count_q == '1) count_q <= '1;
        if (beat_q.last) begin
          state_q <= Gap;
          count_q <= 4'd0;
        end
      end
      default: state_q <= Idle;
    endcase

    wants_q <= state_q == Data && byte_q == 3'd6 && !beat_q.last;
    if (state_q == Idle || step_o) now_q <= byte_i;
    // valid_i is late in a cycle, so it is not used here. Without a beat the frame is broken, or none has
    // begun, and the data is never sent.
    if (state_q == Idle || wants_q) {beat_q.final_byte, beat_q.data} <= {beat_i.final_byte, beat_i.data};
    if (take) beat_q.last <= beat_i.last;
    if (state_q == Idle || wants_q) end_of_frame_q <= beat_i.last && beat_i.final_byte == 0;
    else if (state_q == Data) end_of_frame_q <= beat_q.last && (byte_q + 3'd1 == beat_q.final_byte || byte_q == 3'd6);
    if (!rst_ni) begin
      state_q <= Idle;
      wants_q <= 1'b0;
      tx_en_o <= 1'b0;
      tx_er_o <= 1'b0;
      sent_o  <= 1'b0;
      underrun_o <= 1'b0;
    end
  end
endmodule
