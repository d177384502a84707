// Produces the beats of planned frames: stored data with some halfwords replaced. One beat per cycle, also from
// one frame to the next.
//
//   stage 0  address of the beat              the plan waits here
//   stage 1  memory; which patch applies to which halfword of this beat (places of the plan)
//   stage 2  memory's output register; the values of these patches (values of the plan)
//   stage 3  stored data or value
//
// Places and values are copied from the plan when its first beat passes stages 1 and 2. The next plan can
// therefore arrive while the last beats of the previous frame are still in the pipeline.
module generator_beats
  import tare_pkg::*;
  import generator_pkg::*;
  import registers_pkg::*;
#(
    parameter int unsigned StoredBeats = 4096
) (
    input  logic    clk_i,
    input  logic    rst_ni,
    input  memory_t memory_i,
    input  logic    plan_valid_i,
    output logic    plan_ready_o,
    input  plan_t   plan_i,
    output logic    idle_o,
    output logic    valid_o,
    input  logic    ready_i,
    output beat_t   beat_o
);
  localparam int unsigned Width = $clog2(StoredBeats);

  wire go;  // every stage moves

  // The plan, which waits until its values have been copied.
  plan_t plan_q;
  logic plan_valid_q, begun_q;

  // Stage 0: the beat whose address the memory has.
  logic busy0_q, first0_q, last0_q;
  logic [Width-1:0] address0_q;
  logic [10:0] left0_q;
  logic [7:0] stored0_q;
  logic [6:0] index0_q;  // 64: beyond all places
  logic [2:0] final0_q;
  wire load = go && plan_valid_q && !begun_q && (!busy0_q || last0_q);

  logic valid1_q, first1_q, last1_q, zero1_q;
  logic [6:0] index1_q;
  logic [2:0] final1_q;
  patch_t [Patches-1:0] places_q;  // without their values
  logic [Patches-1:0] here, spill_q;

  logic valid2_q, last2_q, zero2_q;
  logic [2:0] final2_q;
  logic [3:0][Patches-1:0] hit_q;
  logic [Patches-1:0][15:0] even_q, odd_q;

  logic [63:0] patched;
  logic valid3_q;
  beat_t beat3_q;

  always_comb for (int unsigned i = 0; i < Patches; i++) here[i] = places_q[i].enable && {1'b0, places_q[i].at[7:2]} == index1_q;

  wire free_plan = go && valid1_q && first1_q;

  assign plan_ready_o = !plan_valid_q;
  assign idle_o = !plan_valid_q && !busy0_q && !valid1_q && !valid2_q && !valid3_q;

  always_ff @(posedge clk_i) begin
    if (free_plan) begin
      plan_valid_q <= 1'b0;
      begun_q      <= 1'b0;
    end
    if (load) begun_q <= 1'b1;
    if (plan_valid_i && plan_ready_o) begin
      plan_q       <= plan_i;
      plan_valid_q <= 1'b1;
    end

    if (go) begin
      if (load) begin
        busy0_q    <= 1'b1;
        first0_q   <= 1'b1;
        address0_q <= Width'(plan_q.first_beat);
        left0_q    <= plan_q.beats;
        last0_q    <= plan_q.beats == 11'd1;
        stored0_q  <= plan_q.stored;
        index0_q   <= '0;
        final0_q   <= plan_q.final_byte;
      end else begin
        if (last0_q) busy0_q <= 1'b0;
        first0_q   <= 1'b0;
        address0_q <= address0_q + 1'b1;
        left0_q    <= left0_q - 1'b1;
        last0_q    <= left0_q == 11'd2;
        if (stored0_q != 0) stored0_q <= stored0_q - 1'b1;
        if (!index0_q[6]) index0_q <= index0_q + 1'b1;
      end

      valid1_q <= busy0_q;
      first1_q <= first0_q;
      last1_q  <= last0_q;
      zero1_q  <= stored0_q == 0;
      index1_q <= index0_q;
      final1_q <= final0_q;

      valid2_q <= valid1_q;
      last2_q  <= last1_q;
      zero2_q  <= zero1_q;
      final2_q <= final1_q;
      for (int unsigned i = 0; i < Patches; i++) begin
        if (first0_q) places_q[i] <= plan_q.patches[i];
        if (first1_q) even_q[i] <= plan_q.patches[i].even;
        if (first1_q) odd_q[i] <= plan_q.patches[i].odd;
        // The second of two halfwords is in the next lane, or in the next beat. A signature's third is two
        // lanes further.
        spill_q[i] <= valid1_q && !last1_q && here[i] && places_q[i].wide && places_q[i].at[1:0] == 2'd3;
        if (i == ThirdHalfword) spill_q[i] <= valid1_q && !last1_q && here[i] && places_q[i].at[1];
        for (int unsigned lane = 0; lane < 4; lane++) begin
          if (i == ThirdHalfword) hit_q[lane][i] <= (lane < 2 ? spill_q[i] : here[i]) && places_q[i].at[1:0] == 2'(lane + 2);
          else hit_q[lane][i] <= here[i] && places_q[i].at[1:0] == 2'(lane)
                         || (lane == 0 ? spill_q[i] : here[i] && places_q[i].wide && places_q[i].at[1:0] == 2'(lane - 1));
        end
      end

      valid3_q <= valid2_q;
      beat3_q  <= '{last: last2_q, final_byte: last2_q ? final2_q : 3'd7, data: patched};
    end
    if (!rst_ni) begin
      plan_valid_q <= 1'b0;
      begun_q      <= 1'b0;
      busy0_q      <= 1'b0;
      valid1_q     <= 1'b0;
      valid2_q     <= 1'b0;
      valid3_q     <= 1'b0;
    end
  end

  // The memory of beats.
  (* no_rw_check *) logic [31:0] low[StoredBeats];
  (* no_rw_check *) logic [31:0] high[StoredBeats];
  logic [63:0] read1_q, read2_q;
  wire write = memory_i.data_write && memory_i.which == ToBeats;
  always_ff @(posedge clk_i) begin
    if (write && !memory_i.address[0]) low[memory_i.address[Width:1]] <= memory_i.data;
    if (write && memory_i.address[0]) high[memory_i.address[Width:1]] <= memory_i.data;
    if (go) begin
      read1_q <= {high[address0_q], low[address0_q]};
      read2_q <= read1_q;
    end
  end

  always_comb begin
    for (int unsigned lane = 0; lane < 4; lane++) begin
      automatic logic [15:0] value = '0;
      // Only for simulation: index no value where there is none.
      if (hit_q[lane] != 0) for (int unsigned i = 0; i < Patches; i++) value |= !hit_q[lane][i] ? '0 : lane % 2 == 0 ? even_q[i] : odd_q[i];
      patched[16*lane+:16] = hit_q[lane] != 0 ? swap16(value) : zero2_q ? '0 : read2_q[16*lane+:16];
    end
  end

  assign go      = !valid3_q || ready_i;
  assign valid_o = valid3_q;
  assign beat_o  = beat3_q;
endmodule
