// Converts frames into the columns of XGMII (IEEE 802.3 clause 46), eight lanes wide: start, preamble, frame,
// padding to 60 bytes, FCS, terminate, idle.
//
// A frame always starts StartDelay cycles after its first beat was taken. It starts in lane 0; if and only if
// the gap would then be too short, it starts in lane 4, half a cycle later. So the time of the first beat
// determines the start of the preamble, and 64-byte frames at line rate start every 10.5 cycles, as exactly as
// the standard allows.
//
// A gap has 12 bytes, including terminate, give or take three: starts are in lanes 0 and 4 only. The deficit is
// the total number of bytes by which gaps were too short. It never exceeds 3, and a longer gap reduces it
// (clause 46.3.1.4):
//
//   deficit = max(0, deficit + 12 - gap)
//
// Outside a frame, `ready_o` is high only when one can start; inside, for each beat. Inside a frame a beat must
// be available in each cycle; paced_queue and generator ensure that. Otherwise the frame ends with an error on
// the wire, the rest of it is discarded, and `underrun_o` reports it.
//
//   beats ──► data_o ──► (stamper: Turn cycles) ──► data_i ──► FCS: 2 cycles ─► start, terminate, idle ──► wire
//
// Each beat of a frame and its padding appears at `data_o` in the one cycle in which `step_o` is high; `data_i`
// is sent in its place Turn cycles later.
//
// Rules (formal/mac_tx_xgmii_rules.sv):
//   1 a start comes StartDelay cycles after a first beat was taken, at no other time, and in the lane given
//     above;
//   2 the deficit, counted on the wire, never exceeds 3, and no frame waits longer than that requires;
//   3 a frame is broken only by a hole in its source;
//   4 preamble, each beat once and in order, zeros up to 60 bytes, FCS, terminate, and idle until the next
//     start.
module mac_tx_xgmii
  import tare_pkg::*;
#(
    parameter int unsigned Turn = 4,
    localparam int unsigned StartDelay = Turn + 3
) (
    input  logic        clk_i,
    input  logic        rst_ni,
    input  logic        valid_i,
    output logic        ready_o,
    input  beat_t       beat_i,
    output logic        step_o,
    output logic [63:0] data_o,
    input  logic [63:0] data_i,
    output logic [63:0] txd_o,
    output logic [7:0]  txc_o,
    output logic        sent_o,     // the last of a frame's own bytes leaves
    output logic        underrun_o
);
  localparam logic [7:0] Idle = 8'h07, Start = 8'hfb, Terminate = 8'hfd, Error = 8'hfe;

  typedef enum logic [2:0] {
    Open,
    Body,
    Pad,
    Gap,
    Broken
  } state_e;

  // Properties of a beat in the pipeline.
  typedef struct packed {
    logic       valid;
    logic       first;
    logic       last;
    logic [2:0] final_byte;
    logic       lane4;
    logic       broken;
  } mark_t;

  state_e state_q;
  logic [1:0] count_q;
  logic [2:0] beats_q;  // beats of the frame before this one, up to 7
  logic long_q;         // there were eight
  logic fresh_q;        // the first cycle in which a frame can start
  logic half_q;         // a frame that starts then starts in lane 4
  logic [1:0] rest_q;   // and leaves this deficit
  logic lane4_q;
  logic [1:0] deficit_q;

  wire first = valid_i && state_q == Open;
  wire hole = state_q == Body && !valid_i;
  wire enough = state_q != Open && beats_q == 3'd7;  // this beat is the eighth or later
  wire in_body = first || state_q == Body && valid_i;

  assign ready_o = state_q inside {Open, Body, Broken};

  // The beat of this cycle.
  mark_t mark;
  always_comb begin
    mark            = '0;
    mark.valid      = in_body || state_q == Pad || hole;
    mark.first      = first;
    mark.lane4      = first ? fresh_q && half_q : lane4_q;
    mark.broken     = hole;
    mark.last       = hole || enough && (state_q == Pad || in_body && beat_i.last);
    mark.final_byte = 3'd7;
    // Of the eighth beat at least four bytes belong to the frame.
    if (mark.last && !hole) mark.final_byte = state_q == Body && (long_q || beat_i.final_byte > 3'd3) ? beat_i.final_byte : 3'd3;
  end

  // How much further than six half cycles after its last beat the next frame may start, and with which deficit.
  wire [3:0] further = 4'(mark.final_byte) + 4'd1 + 4'(deficit_q);
  wire [1:0] halves = 2'(mark.lane4) + further[3:2];

  always_ff @(posedge clk_i) begin
    underrun_o <= hole;
    count_q    <= count_q - 1'b1;
    fresh_q    <= 1'b0;

    unique case (state_q)
      Open: begin
        beats_q <= 3'd1;
        long_q  <= 1'b0;
        if (first) begin
          state_q   <= beat_i.last ? Pad : Body;
          lane4_q   <= mark.lane4;
          deficit_q <= fresh_q ? rest_q : '0;
        end
      end
      Body, Pad: begin
        if (!enough) beats_q <= beats_q + 1'b1;
        if (enough) long_q <= 1'b1;
        if (in_body && beat_i.last && !enough) state_q <= Pad;
        if (hole) state_q <= Broken;
        else if (mark.last) state_q <= Gap;
        if (mark.last) begin
          half_q <= halves[0];
          rest_q <= further[1:0];
        end
        count_q <= {1'b0, halves[1]} + 2'd1;
      end
      Gap: begin
        if (count_q == '0) begin
          state_q <= Open;
          fresh_q <= 1'b1;
        end
      end
      Broken: begin
        // The longest gap that a frame may need.
        count_q <= 2'd2;
        half_q  <= 1'b0;
        rest_q  <= '0;
        if (valid_i && beat_i.last) state_q <= Gap;
      end
      default: state_q <= Open;
    endcase

    if (!rst_ni) begin
      state_q    <= Open;
      fresh_q    <= 1'b0;
      underrun_o <= 1'b0;
    end
  end

  // Output to the stamper, with zeros after the last byte of a frame.
  mark_t shown_q;
  assign step_o = shown_q.valid;
  always_ff @(posedge clk_i) begin
    shown_q <= mark;
    for (int unsigned i = 0; i < 8; i++) begin
      data_o[8*i+:8] <= in_body && (!beat_i.last || i <= 32'(beat_i.final_byte)) ? beat_i.data[8*i+:8] : 8'h00;
    end
    if (!rst_ni) shown_q <= '0;
  end

  // Input from the stamper.
  mark_t [Turn:0] turn_q;
  assign turn_q[0] = shown_q;
  for (genvar i = 1; i <= Turn; i++) begin : gen_turn
    always_ff @(posedge clk_i) begin
      turn_q[i] <= turn_q[i-1];
      if (!rst_ni) turn_q[i] <= '0;
    end
  end

  mark_t back;
  assign back = turn_q[Turn];
  logic [31:0] crc;

  crc_beats fcs (
      .clk_i,
      .step_i      (back.valid),
      .first_i     (back.first),
      .final_byte_i(back.final_byte),
      .data_i,
      .crc_o       (crc)
  );

  // The beat for which `crc` is valid, and the one after it.
  mark_t next_q, now_q;
  logic [63:0] next_data_q, data_q;
  always_ff @(posedge clk_i) begin
    next_q      <= back;
    next_data_q <= data_i;
    now_q       <= next_q;
    data_q      <= next_data_q;
    if (!rst_ni) begin
      next_q <= '0;
      now_q  <= '0;
    end
  end

  // A beat with what follows its last byte: eight lanes now, eight in the next cycle.
  logic [15:0][7:0] lanes;
  logic [15:0] control;
  logic [7:0][7:0] tail_q;
  logic [7:0] tail_control_q;
  wire [31:0] check = ~crc;
  always_comb begin
    for (int unsigned i = 0; i < 16; i++) begin
      automatic logic [4:0] behind = 5'(i) - 5'(now_q.final_byte) - 5'd1;  // negative inside the frame
      lanes[i]   = Idle;
      control[i] = 1'b1;
      if (now_q.broken) begin
        if (i < 12) lanes[i] = Error;
        if (i == 12) lanes[i] = Terminate;
      end else if (behind[4]) begin
        lanes[i]   = data_q[8*(i%8)+:8];
        control[i] = 1'b0;
      end else if (!now_q.last) begin
        control[i] = 1'b1;
      end else if (behind < 5'd4) begin
        lanes[i]   = check[8*behind[1:0]+:8];
        control[i] = 1'b0;
      end else if (behind == 5'd4) begin
        lanes[i] = Terminate;
      end
    end
  end

  // The column for a start in lane 0.
  logic [63:0] plain;
  logic [7:0] plain_control;
  always_comb begin
    plain         = tail_q;
    plain_control = tail_control_q;
    if (next_q.first) begin
      plain         = {8'hd5, {6{8'h55}}, Start};
      plain_control = 8'h01;
    end else if (now_q.valid) begin
      plain         = lanes[7:0];
      plain_control = control[7:0];
    end
  end

  // After a start in lane 4, everything is four lanes later.
  logic late_q;
  logic [31:0] upper_q;
  logic [3:0] upper_control_q;
  wire late = next_q.first ? next_q.lane4 : late_q;
  always_ff @(posedge clk_i) begin
    tail_q          <= now_q.valid && now_q.last ? lanes[15:8] : {8{Idle}};
    tail_control_q  <= now_q.valid && now_q.last ? control[15:8] : '1;
    late_q          <= late;
    upper_q         <= plain[63:32];
    upper_control_q <= plain_control[7:4];
    txd_o           <= !late ? plain : {plain[31:0], late_q ? upper_q : {4{Idle}}};
    txc_o           <= !late ? plain_control : {plain_control[3:0], late_q ? upper_control_q : 4'hf};
    sent_o          <= now_q.valid && now_q.last && !now_q.broken;
    if (!rst_ni) begin
      tail_q         <= {8{Idle}};
      tail_control_q <= '1;
      late_q         <= 1'b0;
      txd_o          <= {8{Idle}};
      txc_o          <= '1;
      sent_o         <= 1'b0;
    end
  end
endmodule
