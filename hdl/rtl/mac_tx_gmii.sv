// From frames to the bytes of GMII (IEEE 802.3 clause 35): preamble, frame, padding to 60 bytes, FCS, and 12 bytes of silence.
//
// `ready_o` is high outside of a frame only when a preamble can start at once: the first byte of the preamble is on the wire StartDelay = 1
// cycle after the first beat was taken, always. So who decides when the first beat is taken decides when the preamble starts.
//
// Inside a frame the next beat must be there when its turn comes (paced_queue and generator see to it). Were it not, the frame is ended with an
// error on the wire, what is left of it is taken and thrown away, and `underrun_o` tells.
//
// Each byte of a frame and its padding is shown at `byte_o` one cycle before its turn, and `byte_i` is what leaves in its place (see stamper): the first
// with the first beat, the others in cycles with `step_o`. So no choice is left for the cycle in which the FCS counts it.
//
// Rules (formal/mac_tx_gmii_rules.sv): 1 the preamble starts one cycle after the first beat was taken, and at no other time; 2 between two frames at
// least 12 cycles are silent, and after exactly 12 the next may start; 3 a frame is never broken by silence.
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
  logic [3:0] count_q;  // in the state
  beat_t beat_q;
  logic [2:0] byte_q;  // of the beat
  logic [5:0] bytes_q;  // of the frame, up to 59
  logic long_enough_q;  // with the byte whose turn it is, it has 60
  logic [31:0] crc_q;

  wire take = valid_i && ready_o;
  logic wants_q;  // the last byte of a beat that is not the last
  logic [7:0] now_q;

  logic end_of_frame_q;  // the byte whose turn it is in Data is the frame's last

  assign step_o = state_q == Data || state_q == Pad;
  // By what is wanted, not by what comes: if it does not come, this frame is broken, and no byte counts.
  assign byte_o = state_q == Idle || wants_q ? beat_i.data[7:0] : state_q == Pad || end_of_frame_q ? 8'h00 : beat_q.data[15:8];

  assign ready_o = state_q == Idle || wants_q || (state_q == Broken && !beat_q.last);

  always_ff @(posedge clk_i) begin
    // Means nothing while tx_en_o is low.
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
        // What comes in above is never shown.
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
      // The first cycle of this state still has the last byte on the wire, the cycle in which a frame is taken the last silence.
      Gap: if (count_q == 4'(GapBytes)) state_q <= Idle;
      Broken: begin
        // One byte that is marked as wrong, then silence, until the last beat has come and gone.
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
    // Whether there is a beat comes late in a cycle. Without one this frame is broken, or none has begun: the data is never shown.
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
