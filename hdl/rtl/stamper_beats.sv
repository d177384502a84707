// The stamper for a MAC that takes a beat per cycle: writes the departure time and the lateness into a frame as
// it leaves. stamper.sv describes the signature, and why its sum is known in advance.
//
// A signature of nine halfwords starts in any lane and is spread over up to three beats. In part j (0, 1, 2),
// lane l has halfword 4j + l - turn, where turn is the lane of its start.
//
//   data_i ──► 1: sequence and stream are added ──► 2 ──► 3: written ──► data_o, Turn = 4 cycles after data_i
//   time, lateness, two cycles after the start ──► added: both sums are ready when the check is needed
//
// Rules (formal/stamper_beats_rules.sv):
//   1 halfwords other than lateness, time and check pass unchanged;
//   2 the signature is as in stamper.sv for every place.
module stamper_beats
  import tare_pkg::*;
(
    input  logic        clk_i,
    input  logic        rst_ni,
    input  logic        start_i,  // a frame begins
    input  stamp_t      stamp_i,  // of that frame
    // Of the start two cycles ago.
    input  logic [59:0] time_i,
    input  ticks_t      late_i,
    // The beats of the frame: the first a cycle after its start, then one in each cycle with step_i.
    input  logic        step_i,
    input  logic [63:0] data_i,
    output logic [63:0] data_o
);
  localparam int unsigned Parts = 3;
  // Indices of the halfwords that are written.
  localparam int unsigned Lateness = 3, Check = 8;

  // The part of a signature in a beat, one-hot, and the lane of the signature's start.
  typedef struct packed {
    logic [Parts-1:0] part;
    logic [1:0]       turn;
  } where_t;

  stamp_t stamp_q;
  logic start_q;
  logic [6:0] index_q;  // of the next beat; 64 = beyond all places
  logic [2:1] before_q;
  wire [6:0] index = start_q ? '0 : index_q;
  where_t where;
  assign where.turn = stamp_q.place[1:0];
  assign where.part[0] = stamp_q.enable && index == {1'b0, stamp_q.place[7:2]};
  assign where.part[2:1] = start_q ? '0 : before_q;

  where_t where1_q, where2_q, where3_q;
  logic [63:0] data1_q, data2_q, data3_q;

  // The halfword of the signature in a lane; 16 or above: none.
  function automatic logic [4:0] place(where_t at, int unsigned lane);
    logic [4:0] j;
    j = at.part[0] ? 5'd0 : at.part[1] ? 5'd4 : 5'd8;
    return at.part == 0 ? 5'd16 : j + 5'(lane) - 5'(at.turn);
  endfunction

  // Sequence and stream, as they pass.
  logic [17:0] head;
  logic [17:0] head2_q, head_q;
  always_comb begin
    head = '0;
    for (int unsigned lane = 0; lane < 4; lane++)
      if (place(where1_q, lane) < 5'(Lateness)) head += 18'(swap16(data1_q[16*lane+:16]));
  end

  // Lateness and time.
  logic [4:0][15:0] written_q;
  logic [2:1] started_q;
  logic [16:0] sum0_q, sum1_q, sum2_q;
  logic [18:0] sum_q;
  logic [19:0] all_q;
  wire [16:0] folded = 17'(all_q[15:0]) + 17'(all_q[19:16]);

  always_ff @(posedge clk_i) begin
    start_q <= start_i;
    if (start_i) stamp_q <= stamp_i;
    if (step_i) begin
      index_q  <= index[6] ? index : index + 1'b1;
      before_q <= where.part[1:0];
    end
    where1_q <= step_i ? where : '0;
    data1_q  <= data_i;
    where2_q <= where1_q;
    data2_q  <= data1_q;
    where3_q <= where2_q;
    data3_q  <= data2_q;

    head2_q <= head;
    if (where2_q.part[0]) head_q <= head2_q;
    if (where2_q.part[1]) head_q <= head_q + head2_q;

    started_q <= {started_q[1], start_i};
    if (started_q[2]) begin
      written_q[0] <= late_i[63:16] != 0 ? '1 : late_i[15:0];
      {written_q[1], written_q[2], written_q[3], written_q[4]} <= {SignatureVersion, time_i};
    end
    sum0_q <= 17'(written_q[0]) + 17'(written_q[1]);
    sum1_q <= 17'(written_q[2]) + 17'(written_q[3]);
    sum2_q <= 17'(written_q[4]) + {1'b0, ~SignatureSum};
    sum_q  <= 19'(sum0_q) + 19'(sum1_q) + 19'(sum2_q);
    all_q  <= 20'(sum_q) + 20'(head_q);

    for (int unsigned lane = 0; lane < 4; lane++) begin
      automatic logic [4:0] at = place(where3_q, lane);
      data_o[16*lane+:16] <= data3_q[16*lane+:16];
      for (int unsigned i = 0; i < 5; i++) if (at == 5'(Lateness + i)) data_o[16*lane+:16] <= swap16(written_q[i]);
      // The last carry adds one.
      if (at == 5'(Check)) data_o[16*lane+:16] <= swap16(~(folded[15:0] + 16'(folded[16])));
    end
    if (!rst_ni) begin
      start_q   <= 1'b0;
      started_q <= '0;
      before_q  <= '0;
      where1_q  <= '0;
      stamp_q   <= '0;
    end
  end
endmodule
