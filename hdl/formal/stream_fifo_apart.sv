// Two queues with the same input up to an arbitrary cycle, and different input from then on. What is in them at
// that cycle leaves both in the same cycles, for the same sink. So nothing that the host sends later, or fails
// to send, moves what is queued.
//
// paced_queue consists of two such queues, one for beats and one for departures, and its outputs are theirs.
module stream_fifo_apart #(
    parameter int unsigned Depth = 4,
    parameter bit          Rests = 1'b0,
    localparam int unsigned Width = $clog2(Depth)
) (
    input logic       clk_i,
    input logic       rst_ni,
    input logic       split_i,
    input logic       valid_i,
    input logic [7:0] data_i,
    input logic       other_valid_i,
    input logic [7:0] other_data_i,
    input logic       ready_i
);
  logic split_q;
  wire split = split_i || split_q;
  logic valid, other_valid;
  logic [7:0] data, other_data;

  stream_fifo #(
      .Depth(Depth),
      .Rests(Rests)
  ) one (
      .clk_i,
      .rst_ni,
      .valid_i(valid_i),
      .ready_o(),
      .data_i (data_i),
      .valid_o(valid),
      .ready_i,
      .data_o (data),
      .empty_o()
  );

  stream_fifo #(
      .Depth(Depth),
      .Rests(Rests)
  ) other (
      .clk_i,
      .rst_ni,
      .valid_i(split ? other_valid_i : valid_i),
      .ready_o(),
      .data_i (split ? other_data_i : data_i),
      .valid_o(other_valid),
      .ready_i,
      .data_o (other_data),
      .empty_o()
  );

  reset_rules reset (.*);

  // Input that both received and that has not left: stored, fetched, at the output.
  logic [Width:0] stored;
  logic fetched, out;
  wire [Width+1:0] common = (Width + 2)'(stored) + (Width + 2)'(fetched) + (Width + 2)'(out);

  logic begun_q = 1'b0;
  always_ff @(posedge clk_i) begin
    begun_q <= 1'b1;
    split_q <= split;
    stored  <= stored + (Width + 1)'(one.write && !split) - (Width + 1)'(one.read && stored != 0);
    if (one.move_fetched) fetched <= one.read && stored != 0;
    if (one.move_out) out <= fetched;
    else if (ready_i) out <= 1'b0;
    if (!rst_ni) begin
      split_q <= 1'b0;
      stored  <= '0;
      fetched <= 1'b0;
      out     <= 1'b0;
    end
  end

  logic stored_same;
  always_comb begin
    stored_same = 1'b1;
    for (int unsigned i = 0; i < Depth; i++) begin
      automatic logic [Width-1:0] place = one.read_q + Width'(i);
      if ((Width + 1)'(i) < stored && one.memory[place] != other.memory[place]) stored_same = 1'b0;
    end
  end

  always_comb begin
    if (begun_q) begin
      if (common != 0) rule_1_same_cycles : assert (valid == other_valid);
      if (common != 0 && valid) rule_1_same : assert (data == other_data);

      // Meaning of the registers.
      assert (one.stored_q <= (Width + 1)'(Depth) && other.stored_q <= (Width + 1)'(Depth));
      assert (one.some_q == (one.stored_q != 0) && other.some_q == (other.stored_q != 0));
      assert (one.full_q == (one.stored_q == (Width + 1)'(Depth)) && other.full_q == (other.stored_q == (Width + 1)'(Depth)));
      assert (one.write_q == one.read_q + Width'(one.stored_q) && other.write_q == other.read_q + Width'(other.stored_q));
      if (!split_q) begin
        assert (one.stored_q == stored && other.stored_q == stored && one.read_q == other.read_q);
        assert (one.fetched_valid_q == fetched && other.fetched_valid_q == fetched && one.out_valid_q == out && other.out_valid_q == out);
      end
      if (stored != 0) begin
        assert (one.stored_q >= stored && other.stored_q >= stored && one.read_q == other.read_q && stored_same);
        assert (one.fetched_valid_q == fetched && other.fetched_valid_q == fetched);
      end
      if (stored != 0 || fetched) assert (one.out_valid_q == out && other.out_valid_q == out);
      if (fetched) assert (one.fetched_valid_q && other.fetched_valid_q && one.fetched_q == other.fetched_q);
      if (out) assert (one.out_valid_q && other.out_valid_q && one.out_q == other.out_q);
    end

    // One is full behind the common input, the other has nothing else.
    cover (begun_q && split_q && common == 2 && one.full_q && other.stored_q == stored && valid && ready_i);
  end
endmodule
