// Computes the next frame while the previous one leaves: template, length, time, fields and checksums. One plan
// every 8 cycles, which is the time of a 64-byte frame on the stream.
//
// A plan takes 12 cycles, so two plans overlap: one that starts (`cycle` 0 … 7) and one that ends (8 … 12).
// Each register is written in one cycle of the plan, and is handed over in cycle 12, before the next plan
// writes it.
//
//   cycle   table memory         fields (one each cycle)          sums
//   0       word 0 requested     0 read                           gap and length of the list are available
//   1       word 1               0 in progress, 1 read
//   2       word 0 available     …
//   4       word 2: stream       0 has its value
//   5       sequence number      1                                fixed part; field 0 after 6
//   8       word 6 available     …                                field 3
//   10                                                            length
//   11                                                            last carry
//   12      handed over, or everything stalls until it is taken
//
// Checksums are never computed over the payload. The host supplies the sums of the bytes that do not vary, with
// zeros for those that do, and 0x5aa5 for a signature, which sums to that whatever is written into it (see
// stamper.sv).
module generator_plan
  import tare_pkg::*;
  import generator_pkg::*;
  import registers_pkg::*;
(
    input  logic        clk_i,
    input  logic        rst_ni,
    // While run_i is low, no new plan starts; plans in progress are completed.
    input  logic        run_i,
    output logic        idle_o,
    input  generator_t  settings_i,
    input  logic [31:0] gap_i,  // of the accumulator
    output logic        gap_first_o,  // a run starts, and the remainder restarts with it
    output logic        gap_step_o,
    input  memory_t     memory_i,
    // Plans.
    output logic        plan_valid_o,
    input  logic        plan_ready_i,
    output plan_t       plan_o,
    output departure_t  departure_o
);
  logic go;  // the pipeline moves

  // The two plans that overlap: `early` is in cycles 0 … 7, `late` in 8 … 12.
  logic [2:0] cycle_q;
  logic early_q, late_q, ran_q, first_q, endless_q, more_q;
  logic [31:0] left_q;  // frames still to plan

  // The pipeline never stalls in these two cycles, see hand_over.
  wire at_end = cycle_q == 3'd7;
  // Lists and counts are valid eight cycles after run_i at the earliest.
  wire begin_plan = at_end && run_i && ran_q && more_q;
  wire hand_over = late_q && cycle_q == 3'd4;

  assign plan_valid_o = hand_over;
  assign go = !hand_over || plan_ready_i;
  assign idle_o = !early_q && !late_q;
  // The first frame has no gap before it. The next gap is needed eight cycles later.
  always_ff @(posedge clk_i) begin
    gap_first_o <= begin_plan && first_q;
    gap_step_o  <= begin_plan && !first_q;
    if (!rst_ni) begin
      gap_first_o <= 1'b0;
      gap_step_o  <= 1'b0;
    end
  end

  // The list of frames.
  (* no_rw_check *) logic [31:0] gaps[ListEntries];
  // Two memories of 2 048 sizes, as 18 bits by 2 048 fill whole block RAMs, unlike 18 by 4 096.
  (* no_rw_check *) size_t sizes_low[ListEntries / 2];
  (* no_rw_check *) size_t sizes_high[ListEntries / 2];
  logic [31:0] gap_read_q, gap_list_q;
  size_t [1:0] size_read_q, size_list_q;
  logic [11:0] entry_q;
  wire size_t size_list = size_list_q[entry_q[11]];
  wire write_size = memory_i.data_write && memory_i.which == ToSizes;

  always_ff @(posedge clk_i) begin
    if (memory_i.data_write && memory_i.which == ToGaps) gaps[memory_i.address[11:0]] <= memory_i.data;
    if (write_size && !memory_i.address[11]) sizes_low[memory_i.address[10:0]] <= {memory_i.data[20:16], memory_i.data[LengthBits-1:0]};
    if (write_size && memory_i.address[11]) sizes_high[memory_i.address[10:0]] <= {memory_i.data[20:16], memory_i.data[LengthBits-1:0]};
    gap_read_q  <= gaps[entry_q];
    size_read_q <= {sizes_high[entry_q[10:0]], sizes_low[entry_q[10:0]]};
    gap_list_q  <= gap_read_q;
    size_list_q <= size_read_q;
  end

  logic [4:0] template_q;
  logic [LengthBits-1:0] asked_length_q;
  from_e from_q, late_from_q;
  ticks_t upcoming_q, value_q, late_value_q;

  always_ff @(posedge clk_i) begin
    if (go) cycle_q <= cycle_q + 1'b1;
    // Stable for some cycles before it is used.
    upcoming_q <= first_q ? settings_i.first_time : {32'b0, settings_i.gaps_from_list ? gap_list_q : gap_i};
    more_q <= endless_q || left_q != 0;
    if (hand_over && go) late_q <= 1'b0;
    if (at_end) begin
      early_q      <= begin_plan;
      late_q       <= early_q;
      late_from_q  <= from_q;
      late_value_q <= value_q;
      ran_q        <= run_i;
    end
    if (begin_plan) begin
      template_q     <= size_list.number;
      asked_length_q <= size_list.length;
      from_q         <= first_q ? settings_i.first_from : settings_i.from;
      value_q        <= upcoming_q;
      first_q        <= 1'b0;
      left_q         <= left_q - 1'b1;
      entry_q        <= entry_q == settings_i.last_entry ? '0 : entry_q + 1'b1;
    end
    if (!run_i) begin
      first_q   <= 1'b1;
      left_q    <= settings_i.frames;
      endless_q <= settings_i.frames == 0;
      entry_q   <= '0;
      ran_q     <= 1'b0;
    end
    if (!rst_ni) begin
      cycle_q <= '0;
      early_q <= 1'b0;
      late_q  <= 1'b0;
      ran_q   <= 1'b0;
    end
  end

  // The table of templates: word k is requested in cycle k and available in cycle k + 2.
  (* no_rw_check *) logic [31:0] table_words[8 * Templates];
  logic [31:0] word_read_q, word_q;
  always_ff @(posedge clk_i) begin
    if (memory_i.data_write && memory_i.which == ToTable) table_words[memory_i.address[7:0]] <= memory_i.data;
    if (go) begin
      word_read_q <= table_words[{template_q, cycle_q}];
      word_q      <= word_read_q;
    end
  end

  // Fields: field k is read in cycle k.
  field_t flags[Fields];
  logic [31:0] used_by[Fields], firsts[Fields], lasts[Fields], steps[Fields], states[Fields];
  wire [1:0] field = cycle_q[1:0];
  logic on1_q, at_last1_q, active2_q, active3_q, active4_q;
  logic [31:0] used1_q;
  field_t flags1_q, flags2_q, flags3_q, flags4_q;
  logic [31:0] first1_q, last1_q, step1_q, state1_q, value2_q, value3_q, value4_q;
  logic [1:0] field1_q, field2_q;
  logic [31:0] next, next2_q;

  always_comb begin
    if (flags1_q.mode == Random) next = xorshift32(state1_q);
    else next = at_last1_q ? first1_q : state1_q + step1_q;
  end

  wire write_field = memory_i.data_write && memory_i.which == ToFields;
  wire keep_state = go && active2_q;
  always_ff @(posedge clk_i) begin
    if (write_field && memory_i.address[2:0] == 3'd0) used_by[memory_i.address[4:3]] <= memory_i.data;
    if (write_field && memory_i.address[2:0] == 3'd1) flags[memory_i.address[4:3]] <= memory_i.data[$bits(field_t)-1:0];
    if (write_field && memory_i.address[2:0] == 3'd2) firsts[memory_i.address[4:3]] <= memory_i.data;
    if (write_field && memory_i.address[2:0] == 3'd3) lasts[memory_i.address[4:3]] <= memory_i.data;
    if (write_field && memory_i.address[2:0] == 3'd4) steps[memory_i.address[4:3]] <= memory_i.data;
    if (keep_state || write_field && memory_i.address[2:0] == 3'd5)
      states[keep_state ? field2_q : memory_i.address[4:3]] <= keep_state ? next2_q : memory_i.data;
  end

  (* no_rw_check *) logic [31:0] values[Values];
  logic [31:0] listed2_q, listed3_q;
  always_ff @(posedge clk_i) begin
    if (memory_i.data_write && memory_i.which == ToValues) values[memory_i.address[7:0]] <= memory_i.data;
    if (go) begin
      listed2_q <= values[state1_q[7:0]];
      listed3_q <= listed2_q;
    end
  end

  always_ff @(posedge clk_i) begin
    if (go) begin
      on1_q     <= early_q && !cycle_q[2];
      used1_q   <= used_by[field];
      field1_q  <= field;
      flags1_q  <= flags[field];
      first1_q  <= firsts[field];
      last1_q   <= lasts[field];
      step1_q   <= steps[field];
      state1_q  <= states[field];
      at_last1_q <= states[field] == lasts[field];

      active2_q <= on1_q && used1_q[template_q];
      field2_q  <= field1_q;
      next2_q   <= next;
      flags2_q  <= flags1_q;
      value2_q  <= flags1_q.mode == Random ? first1_q ^ (state1_q & last1_q) : state1_q;
      active3_q <= active2_q;
      flags3_q  <= flags2_q;
      value3_q  <= value2_q;
      active4_q <= active3_q;
      flags4_q  <= flags3_q;
      value4_q  <= flags3_q.mode == List ? listed3_q : value3_q;
    end
    if (!rst_ni) begin
      on1_q     <= 1'b0;
      active2_q <= 1'b0;
    end
  end

  // Sequence numbers, by stream.
  logic [39:0] sequences[Streams];
  logic [39:0] sequence_q;
  logic signature_q;
  logic [7:0] signature_at_q;
  logic [4:0] stream_q;
  logic [12:0] first_beat_q;
  wire keep_sequence = early_q && cycle_q == 3'd6 && signature_q;
  logic write_sequence_q;
  logic [4:0] place_q;
  logic [39:0] next_sequence_q;
  always_ff @(posedge clk_i) begin
    write_sequence_q <= keep_sequence || memory_i.data_write && memory_i.which == ToStreams;
    place_q          <= keep_sequence ? stream_q : memory_i.address[4:0];
    next_sequence_q  <= keep_sequence ? sequence_q + 1'b1 : {8'b0, memory_i.data};
    if (write_sequence_q) sequences[place_q] <= next_sequence_q;
    if (!rst_ni) write_sequence_q <= 1'b0;
  end

  // The words' contents, and the sums.
  logic [LengthBits-1:0] length_q;
  length_t ip_length_q, l4_length_q;
  logic pseudo_q;
  place_t ip_check_q, l4_check_q;
  logic [7:0] stored_q;
  logic [10:0] beats_q;
  logic [2:0] final_byte_q;
  logic [15:0] ip_fixed_q, l4_fixed_q, ip_sum_q, l4_sum_q;
  logic ip_carry_q, l4_carry_q;
  patch_t [Fields-1:0] field_patches_q;

  // Ones' complement sums: one addition in each cycle from 4 to 11, each with the carry of the previous one.
  // Field k is added in cycle k + 6, with its two halves summed, the length in cycle 10. The terms after the
  // fields are below 2^15, so the last cycle leaves no carry.
  logic [16:0] field_sum_q;
  logic in_ip5_q, in_l4_5_q;
  wire [15:0] field_sum = field_sum_q[15:0] + 16'(field_sum_q[16]);
  wire fixed = cycle_q == 3'd4;
  wire lengths = cycle_q == 3'd1;  // one cycle early
  wire [15:0] l4_count = !(pseudo_q && l4_length_q.enable) ? l4_length_q.value : {l4_length_q.value[14:0], 1'b0};
  logic [15:0] to_ip_q, to_l4_q;

  always_ff @(posedge clk_i) begin
    if (go) begin
      field_sum_q <= 17'(flags4_q.wide ? value4_q[31:16] : 16'b0) + 17'(value4_q[15:0]);
      // Field k is in stage 4 in cycle k + 4. In other cycles nothing is added.
      in_ip5_q  <= active4_q && flags4_q.in_ip && cycle_q[2];
      in_l4_5_q <= active4_q && flags4_q.in_l4 && cycle_q[2];
      to_ip_q <= in_ip5_q ? field_sum : lengths && ip_length_q.enable ? ip_length_q.value : '0;
      to_l4_q <= in_l4_5_q ? field_sum : lengths && (pseudo_q || l4_length_q.enable) ? l4_count : '0;
      {ip_carry_q, ip_sum_q} <= 17'(ip_sum_q) + 17'(to_ip_q) + 17'(ip_carry_q);
      {l4_carry_q, l4_sum_q} <= 17'(l4_sum_q) + 17'(to_l4_q) + 17'(l4_carry_q);
      if (fixed) begin
        {ip_carry_q, ip_sum_q} <= {1'b0, ip_fixed_q};
        {l4_carry_q, l4_sum_q} <= {1'b0, l4_fixed_q};
      end

      unique case (cycle_q)
        3'd0: begin
          stored_q     <= word_q[7:0];
          beats_q      <= 11'((14'(length_q) + 14'd7) >> 3);
          final_byte_q <= length_q[2:0] - 1'b1;
        end
        3'd2: begin
          ip_fixed_q <= word_q[15:0];
          l4_fixed_q <= word_q[31:16];
        end
        3'd3: length_q <= asked_length_q != 0 ? asked_length_q : word_q[LengthBits-1:0];
        3'd4: begin
          signature_q    <= word_q[31];
          signature_at_q <= word_q[30:23];
          stream_q       <= word_q[21:17];
          first_beat_q   <= word_q[12:0];
        end
        3'd5: begin
          ip_length_q <= '{enable: word_q[31], at: word_q[30:23], value: 16'(length_q) - 16'(word_q[7:0])};
          sequence_q  <= sequences[stream_q];
        end
        3'd6: begin
          l4_length_q <= '{enable: word_q[31], at: word_q[30:23], value: 16'(length_q) - 16'(word_q[7:0])};
          pseudo_q    <= word_q[22];
        end
        3'd7: begin
          ip_check_q <= '{enable: word_q[31], at: word_q[30:23]};
          l4_check_q <= '{enable: word_q[15], at: word_q[14:7]};
        end
        default: ;
      endcase

      // The value of field k is available in cycle k + 4.
      if (cycle_q[2]) begin
        field_patches_q[field] <= flags4_q.wide ? wide(active4_q, flags4_q.at, value4_q[31:16], value4_q[15:0])
                                                : narrow(active4_q, flags4_q.at, value4_q[15:0]);
      end
    end
  end

  assign plan_o.first_beat = first_beat_q;
  assign plan_o.stored     = stored_q;
  assign plan_o.beats      = beats_q;
  assign plan_o.final_byte = final_byte_q;
  assign plan_o.patches    = {
    wide(signature_q, signature_at_q, sequence_q[39:24], sequence_q[23:8]),
    narrow(signature_q, signature_at_q, {sequence_q[7:0], 3'b0, stream_q}),
    // RFC 768: a sum of 0 is sent as all ones.
    narrow(l4_check_q.enable, l4_check_q.at, l4_sum_q == '1 ? 16'hffff : ~l4_sum_q),
    narrow(ip_check_q.enable, ip_check_q.at, ~ip_sum_q),
    narrow(l4_length_q.enable, l4_length_q.at, l4_length_q.value),
    narrow(ip_length_q.enable, ip_length_q.at, ip_length_q.value),
    field_patches_q
  };
  assign departure_o.from  = late_from_q;
  assign departure_o.value = late_value_q;
  assign departure_o.stamp = '{enable: signature_q, place: signature_at_q};
endmodule
